// Pictures of items. An <img> cannot send the secret: what it shows is fetched with it and kept in memory.

import { fetchPicture, sendPicture } from './service.js';
import { element } from './elements.js';

const mostBytes = 5 * 1024 * 1024;
// A longer side only costs time; no one needs a larger picture of an item.
const longestSide = 1600;

// By the picture's own name, which is another one for each other picture.
const shown = new Map();

function address(row) {
  if (!shown.has(row.picture)) {
    const coming = fetchPicture(row.id).then((picture) => URL.createObjectURL(picture));
    // What could not be fetched is asked for again with the next look.
    coming.catch(() => shown.delete(row.picture));
    shown.set(row.picture, coming);
  }
  return shown.get(row.picture);
}

/** Shows a row's picture in a holder, or nothing; the holder has an image only while there is one. */
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
    // Another one may have come meanwhile.
    if (holder.dataset.picture !== row.picture) return;
    holder.replaceChildren(element('img', { src, alt: `Picture of ${row.name}` }));
  } catch {
    delete holder.dataset.picture;
  }
}

/** Lets go of the pictures that no row has any more. */
export function forgetPictures(rows) {
  const kept = new Set(rows.map((row) => row.picture));
  for (const [picture, coming] of shown) {
    if (kept.has(picture)) continue;
    shown.delete(picture);
    coming.then(URL.revokeObjectURL, () => {});
  }
}

/** Sends a file as an item's picture, no larger than it has to be, and without what a camera writes into it. */
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
