// The sheets over the list: an item, the people, the sync, the list itself, and what happened.

import { look } from './service.js';
import { byID, element, face, reconcile, say, setText } from './elements.js';
import { perform, state } from './page.js';
import { drawPicture, takePicture } from './pictures.js';

const colours = ['green', 'teal', 'blue', 'violet', 'rose', 'amber'];
let itemID = null;

export function openSheet(id) {
  say(byID(id), null);
  drawSheets(state, true);
  byID(id).showModal();
  if (id === 'activity-sheet') drawActivity();
}

function findItem(id) {
  return state.open?.sections.flatMap((section) => section.rows).find((row) => row.id === id);
}

export function openItem(id) {
  const item = findItem(id);
  if (!item) return;
  itemID = id;
  byID('item-name').value = item.name;
  byID('item-count').value = item.quantity;
  byID('item-note').value = item.note ?? '';
  byID('item-category').value = item.category ?? '';
  setText(byID('item-title'), item.name);
  setText(byID('item-origin'), `Added by ${item.addedBy || 'somebody'}`
    + (item.tickedBy ? `, bought by ${item.tickedBy}` : ''));
  const names = state.open.sections.flatMap((section) => section.rows).map((row) => row.category).filter(Boolean);
  byID('categories').replaceChildren(...[...new Set(names)].map((name) => element('option', { value: name })));
  byID('item-history').replaceChildren();
  openSheet('item-sheet');
  look('purchases', item.name).then(({ lines }) => {
    byID('item-history').replaceChildren(...(lines.length ? lines : [{ sentence: 'Not yet, as far as this device knows.' }])
      .map((line) => element('li', {}, line.sentence, element('span', { className: 'small' }, when(line.milliseconds)))));
  }).catch((error) => say(byID('item-sheet'), { sentence: error.message, isError: true }));
}

function when(milliseconds) {
  if (!milliseconds) return '';
  const date = new Date(milliseconds);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : date.toLocaleDateString([], { day: 'numeric', month: 'short', year: 'numeric' });
}

// MARK: Drawing

export function drawSheets(next, isOpening = false) {
  const isShown = (id) => isOpening || byID(id).open;
  if (!next) return;
  if (isShown('sync-sheet')) drawSync(next.sync);
  if (!next.open) {
    for (const id of ['item-sheet', 'share-sheet', 'list-sheet', 'activity-sheet']) byID(id).close();
    return;
  }
  if (isShown('item-sheet') && itemID) {
    const item = findItem(itemID);
    if (item) drawItem(item);
    else byID('item-sheet').close();
  }
  if (isShown('share-sheet')) drawShare(next.open);
  if (isShown('list-sheet')) drawSettings(next.open, isOpening);
  if (byID('activity-sheet').open) drawActivity();
}

function drawItem(item) {
  drawPicture(byID('item-picture'), item);
  byID('item-no-picture').hidden = !item.picture;
}

const roles = { owner: 'owner', writes: 'may change the list', reads: 'may look' };

function drawShare(open) {
  const sharing = open.sharing;
  byID('not-shared').hidden = Boolean(sharing);
  byID('shared').hidden = !sharing;
  byID('share').hidden = !open.isOwn;
  if (!sharing) return;
  reconcile(byID('participants'), sharing.people, (person) => person.id, (person) => {
    const remove = element('button', { type: 'button', className: 'plain' }, 'Remove');
    remove.addEventListener('click', () => perform({ removePerson: { personID: person.id } }, byID('share-sheet')));
    return element('li', {}, face(person.name),
      element('span', { className: 'words' }, element('span', { className: 'person-name' }),
        element('span', { className: 'role small' })), remove);
  }, (line, person) => {
    setText(line.querySelector('.person-name'), person.name + (person.isMe ? ' (you)' : ''));
    setText(line.querySelector('.role'), roles[person.role] + (person.isInvited ? ' · invited' : ''));
    const remove = line.querySelector('button');
    remove.hidden = !open.isOwn || person.role === 'owner';
    remove.setAttribute('aria-label', `Remove ${person.name}`);
  });
  reconcile(byID('requests'), sharing.requests.map((name, place) => [place + name, name]), ([key]) => key, ([, name]) =>
    element('li', {}, face(name), element('span', { className: 'words' }, `${name} asks to join`)));
  byID('answers').hidden = !open.isOwn || sharing.requests.length === 0;
  byID('owner-part').hidden = !open.isOwn;
  const access = sharing.access === 'invited' && sharing.takesRequests ? 'ask' : sharing.access;
  if (document.activeElement !== byID('access')) byID('access').value = access;
  byID('link').value = sharing.link ?? 'The link comes with the next sync.';
  byID('stop').hidden = !open.isOwn;
  byID('leave').hidden = open.isOwn;
}

function drawSync(sync) {
  setText(byID('sync-line'), sync.line);
  byID('online-row').hidden = sync.kind === 'local';
  byID('online').checked = sync.kind !== 'offline';
  byID('sync').hidden = ['local', 'offline'].includes(sync.kind);
  byID('pending-part').hidden = sync.pending.length === 0;
  reconcile(byID('pending'), sync.pending.map((text, place) => [place, text]), ([place]) => place,
    () => element('li'), (line, [, text]) => setText(line, text));
  byID('refused-part').hidden = sync.refused.length === 0;
  reconcile(byID('refused'), sync.refused.map((text, place) => [place + text, text]), ([key]) => key,
    ([, text]) => element('li', {}, text));
}

function drawSettings(open, isOpening) {
  if (isOpening && !byID('list-sheet').open) byID('list-name').value = open.title;
  setText(byID('delete'), open.isOwn ? 'Delete this list' : 'Leave this list');
  delete byID('delete').dataset.isSure;
  reconcile(byID('colours'), colours, (colour) => colour, (colour) => {
    const choice = element('input', { type: 'radio', name: 'colour', value: colour, id: 'colour-' + colour });
    choice.addEventListener('change', () => perform({ recolour: { colour } }, byID('list-sheet')));
    return element('label', { htmlFor: choice.id, 'data-colour': colour }, choice,
      element('span', {}, colour));
  }, (label, colour) => { label.firstElementChild.checked = (open.colour?.toLowerCase() ?? 'green') === colour; });
}

async function drawActivity() {
  try {
    const { lines } = await look('activity');
    reconcile(byID('activity'), lines, (line) => line.id, (line) => {
      const undo = element('button', { type: 'button', className: 'plain', 'aria-label': `Undo: ${line.sentence}` }, 'Undo');
      undo.hidden = !line.canUndo;
      undo.addEventListener('click', () => perform({ undo: { eventID: line.id } }, byID('activity-sheet')));
      return element('li', {}, element('span', { className: 'words' }, line.sentence,
        element('span', { className: 'small' }, when(line.milliseconds))), undo);
    });
  } catch (error) {
    say(byID('activity-sheet'), { sentence: error.message, isError: true });
  }
}

// MARK: What their controls do

/** A button that asks for confirmation before an action that cannot be undone. */
function doSurely(id, question, action, sheet) {
  const button = byID(id);
  button.addEventListener('click', async () => {
    if (!button.dataset.isSure) {
      button.dataset.isSure = 'yes';
      setText(button, question());
      return;
    }
    delete button.dataset.isSure;
    const answer = await perform(action(), byID(sheet));
    if (!answer.isError) byID(sheet).close();
  });
  button.addEventListener('blur', () => { delete button.dataset.isSure; drawSheets(state); });
}

export function prepareSheets() {
  const share = byID('share-sheet');
  const on = (id, action, sheet) => byID(id).addEventListener('click', () => perform(action(), byID(sheet)));
  on('share', () => ({ share: {} }), 'share-sheet');
  on('approve', () => ({ answerRequests: { approving: true } }), 'share-sheet');
  on('deny', () => ({ answerRequests: { approving: false } }), 'share-sheet');
  on('stop', () => ({ stopSharing: {} }), 'share-sheet');
  on('leave', () => ({ leave: {} }), 'share-sheet');
  on('sync', () => ({ sync: {} }), 'sync-sheet');
  on('retry', () => ({ retryRefused: {} }), 'sync-sheet');
  on('give-up', () => ({ giveUpRefused: {} }), 'sync-sheet');
  byID('online').addEventListener('change', () =>
    perform(byID('online').checked ? { goOnline: {} } : { goOffline: {} }, byID('sync-sheet')));
  byID('invite').addEventListener('submit', async (event) => {
    event.preventDefault();
    const answer = await perform({ invite: { addresses: byID('invite-address').value } }, share);
    if (!answer.isError) byID('invite-address').value = '';
  });
  byID('access').addEventListener('change', () => {
    const chosen = byID('access').value;
    perform({ setLink: { access: chosen === 'ask' ? 'invited' : chosen, takesRequests: chosen === 'ask' } }, share);
  });
  byID('access').form.addEventListener('submit', (event) => event.preventDefault());
  byID('link').form.addEventListener('submit', (event) => event.preventDefault());
  byID('copy').addEventListener('click', async () => {
    byID('link').select();
    try {
      await navigator.clipboard.writeText(byID('link').value);
      say(share, { sentence: 'The link is copied.' });
    } catch {
      say(share, { sentence: 'The link is selected; copy it with the keyboard.' });
    }
  });
  prepareItem();
  byID('show-activity').addEventListener('click', () => {
    byID('list-sheet').close();
    openSheet('activity-sheet');
  });
  byID('list-form').addEventListener('submit', (event) => {
    event.preventDefault();
    perform({ renameList: { title: byID('list-name').value } }, byID('list-sheet'));
  });
  doSurely('delete', () => state.open?.isOwn ? 'Delete it for everybody: sure?' : 'Leave: sure?',
    () => ({ delete: {} }), 'list-sheet');
  for (const sheet of document.querySelectorAll('dialog')) {
    // A tap outside the sheet closes it.
    sheet.addEventListener('click', (event) => { if (event.target === sheet) sheet.close(); });
  }
}

function prepareItem() {
  const sheet = byID('item-sheet');
  byID('item-form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const item = findItem(itemID);
    const [name, note, category] = ['item-name', 'item-note', 'item-category'].map((id) => byID(id).value.trim());
    const asked = [];
    if (name !== item?.name) asked.push({ rename: { itemID, name } });
    const number = Number(byID('item-count').value);
    if (number !== item?.quantity) asked.push({ count: { itemID, number } });
    if (note !== (item?.note ?? '')) asked.push({ note: { itemID, text: note } });
    if (category !== (item?.category ?? '')) asked.push({ category: { itemID, name: category } });
    for (const action of asked) {
      if ((await perform(action, sheet)).isError) return;
    }
    sheet.close();
  });
  byID('item-file').addEventListener('change', async () => {
    const [file] = byID('item-file').files;
    if (!file) return;
    say(sheet, await takePicture(file, itemID, state.open?.id));
    byID('item-file').value = '';
  });
  byID('item-no-picture').addEventListener('click', () => perform({ removePicture: { itemID } }, sheet));
  byID('item-up').addEventListener('click', () => perform({ moveUp: { itemID } }, sheet));
  byID('item-down').addEventListener('click', () => perform({ moveDown: { itemID } }, sheet));
  byID('item-remove').addEventListener('click', () => perform({ remove: { itemID } }, sheet));
}
