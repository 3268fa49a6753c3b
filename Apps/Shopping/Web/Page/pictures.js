// Pictures of items. An <img> cannot send the secret, so pictures are fetched with it here and kept in memory.

import { fetchPicture, sendPicture } from './service.js';
import { element } from './elements.js';

const mostBytes = 5 * 1024 * 1024;
// Pixels of the longer side. Larger pictures only take longer to send.
const longestSide = 1600;

// By the picture's name, which is different for each picture.
const shown = new Map();

function address(row) {
  if (!shown.has(row.picture)) {
    const coming = fetchPicture(row.id).then((picture) => URL.createObjectURL(picture));
    // A picture that could not be fetched is requested again when its row is drawn next.
    coming.catch(() => shown.delete(row.picture));
    shown.set(row.picture, coming);
  }
  return shown.get(row.picture);
}

/** Shows a row's picture in a holder; without a picture the holder is empty. */
export async function drawPicture(holder, row) {
  if (holder.dataset.picture === (row.picture ?? '')) {
    holder.firstElementChild?.setAttribute('alt', `Picture of ${row.name}`);
    return;
  }
  holder.dataset.picture = row.picture ?? '';
  holder.replaceChildren();
  if (!row.picture) return;
  try {
    const src = await address(row);
    // The row may have another picture by now.
    if (holder.dataset.picture !== row.picture) return;
    holder.replaceChildren(element('img', { src, alt: `Picture of ${row.name}` }));
  } catch {
    delete holder.dataset.picture;
  }
}

/** Releases the pictures that no row has any more. */
export function forgetPictures(rows) {
  const kept = new Set(rows.map((row) => row.picture));
  for (const [picture, coming] of shown) {
    if (kept.has(picture)) continue;
    shown.delete(picture);
    coming.then(URL.revokeObjectURL, () => {});
  }
}

/** Sends a file as an item's picture: scaled down, and without the metadata of the camera. */
export async function takePicture(file, itemID, listID) {
  let image;
  try {
    image = await createImageBitmap(file);
  } catch {
    return { sentence: 'This file is not a picture that can be shown here; choose another one.', isError: true };
  }
  const scale = Math.min(1, longestSide / Math.max(image.width, image.height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(image.width * scale)), Math.max(1, Math.round(image.height * scale)));
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const picture = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 });
  if (picture.size > mostBytes) return { sentence: 'This picture is too large; choose a smaller one.', isError: true };
  return sendPicture(picture, itemID, listID);
}
