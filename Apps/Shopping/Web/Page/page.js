// Draws the state, which the app sends as a whole each time it changes; everything else is requested from the app.

import { act, look, watch } from './service.js';
import { byID, element, face, icon, reconcile, say, setText } from './elements.js';
import { drawList } from './rows.js';
import { drawSheets, openSheet, prepareSheets } from './sheets.js';

export let state = null;
let announced = null;
let toastEnd = null;

/** Requests an action on the open list; the outcome is shown in the holder, or as a toast. */
export async function perform(action, holder) {
  const answer = await act(action, state?.open?.id);
  if (holder) say(holder, answer);
  else if (answer.sentence) toast(answer.sentence);
  if (!answer.isError) return answer;
  // If the app refused a change that a control already shows, this draws the old value again.
  if (state) draw(state);
  return answer;
}

export function toast(sentence) {
  const place = byID('toast');
  setText(place, sentence);
  place.hidden = false;
  clearTimeout(toastEnd);
  toastEnd = setTimeout(() => { place.hidden = true; }, 6000);
  announce(sentence);
}

function announce(sentence) {
  const place = byID('live');
  // A screen reader reads the same sentence again only if the text was empty before.
  place.textContent = '';
  place.textContent = sentence;
}

// MARK: Drawing

const pillTexts = {
  local: 'On this device', synced: 'In step', syncing: 'Sending', offline: 'Offline',
  unreachable: 'No service', refused: 'Refused', halted: 'Stopped',
};

function drawPill(sync) {
  const pill = byID('pill');
  pill.dataset.kind = sync.kind;
  const waits = sync.kind === 'synced' || sync.pendingCount === 0 ? '' : ` · ${sync.pendingCount}`;
  setText(byID('pill-text'), pillTexts[sync.kind] + waits);
  pill.setAttribute('aria-label', 'Sync: ' + sync.line);
}

function drawHead(open) {
  document.title = open ? `${open.title} · Shopping` : 'Shopping';
  setText(byID('title'), open ? open.title : 'Shopping');
  setText(byID('subtitle'), open
    ? (open.toBuyCount ? `${open.toBuyCount} to buy` : 'Nothing to buy') + (open.boughtCount ? ` · ${open.boughtCount} bought` : '')
    : `${state.person} on ${state.device}`);
  for (const id of ['back', 'people', 'more', 'modes']) byID(id).hidden = !open;
  const people = open?.sharing?.people ?? [];
  const faces = people.slice(0, 3).map((person) => face(person.name));
  byID('people').replaceChildren(...(faces.length ? faces : [icon('people')]));
  byID('people').setAttribute('aria-label', people.length
    ? 'People: ' + people.map((person) => person.name).join(', ') : 'Share this list');
  byID('planning').setAttribute('aria-pressed', String(!open?.isShopping));
  byID('shopping').setAttribute('aria-pressed', String(open?.isShopping === true));
  document.documentElement.dataset.colour = open?.colour?.toLowerCase() ?? '';
  document.documentElement.dataset.mode = open?.isShopping ? 'shopping' : 'planning';
}

function drawLists(lists) {
  reconcile(byID('lists'), lists, (list) => list.id, (list) => {
    const button = element('button', { type: 'button', className: 'list-line' },
      element('span', { className: 'list-title' }), element('span', { className: 'list-count' }));
    button.addEventListener('click', () => perform({ open: { listID: list.id } }));
    return element('li', {}, button);
  }, (line, list) => {
    setText(line.querySelector('.list-title'), list.title);
    const owner = list.isOwn ? (list.isShared ? ' · shared' : '') : ' · shared with you';
    setText(line.querySelector('.list-count'), `${list.toBuyCount} to buy${owner}`);
  });
  byID('no-lists').hidden = lists.length > 0;
}

function drawAnnouncements(announcements) {
  const newest = announcements.at(-1)?.number ?? 0;
  if (announced === null) announced = newest;
  const fresh = announcements.filter((one) => one.number > announced);
  announced = newest;
  if (fresh.length) toast(fresh.map((one) => one.sentence).join('. ') + '.');
}

function drawTrouble() {
  const trouble = byID('trouble');
  trouble.hidden = !state.needsNewerApp;
  setText(trouble, state.needsNewerApp
    ? 'Someone uses a newer version of this app, and not all of their changes are shown here; update it.' : '');
}

function draw(next) {
  const former = state;
  state = next;
  const focused = document.activeElement;
  drawHead(next.open);
  drawPill(next.sync);
  drawTrouble();
  byID('lists-view').hidden = Boolean(next.open);
  byID('list-view').hidden = !next.open;
  byID('add').hidden = !next.open;
  if (next.open) drawList(next.open);
  else drawLists(next.lists);
  drawSheets(next);
  drawAnnouncements(next.announcements);
  // When another list is opened, the focus moves to its title; otherwise it stays.
  if (former && former.open?.id !== next.open?.id) {
    for (const id of ['new-list', 'join', 'add']) say(byID(id), null);
    if (!document.querySelector('dialog[open]')) byID('title').focus({ preventScroll: true });
    window.scrollTo(0, 0);
  } else if (focused !== document.activeElement && focused?.isConnected) focused.focus();
}

// MARK: Typing

/** Runs an action when a form is submitted, and shows the outcome below it. */
function onSubmit(id, action, input) {
  byID(id).addEventListener('submit', async (event) => {
    event.preventDefault();
    const answer = await perform(action(), byID(id));
    if (!answer.isError) byID(input).value = '';
  });
}

function prepareLists() {
  onSubmit('new-list', () => ({ create: { title: byID('new-title').value } }), 'new-title');
  onSubmit('join', () => ({ join: { link: byID('join-link').value } }), 'join-link');
  byID('ask').addEventListener('click', () =>
    perform({ ask: { link: byID('join-link').value } }, byID('join')));
}

function prepareAdding() {
  const [form, input, suggestions] = [byID('add'), byID('add-text'), byID('suggestions')];
  let asked = 0;
  async function add(text) {
    const answer = await perform({ add: { text } }, form);
    if (!answer.isError) {
      input.value = '';
      await suggest();
    }
    input.focus();
  }
  async function suggest() {
    const number = (asked += 1);
    const text = input.value.includes('\n') ? '' : input.value.split(';').at(-1).trim();
    // If the suggestions cannot be loaded, the text itself can still be added.
    const products = text ? await look('suggestions', text).catch(() => []) : [];
    if (number !== asked) return;
    reconcile(suggestions, products, (product) => product.name, (product) => {
      const button = element('button', { type: 'button' }, product.name,
        element('span', { className: 'small' }, product.aisle));
      button.addEventListener('click', () => add(product.name));
      return element('li', {}, button);
    });
    suggestions.hidden = products.length === 0;
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    add(input.value);
  });
  input.addEventListener('input', () => {
    input.rows = Math.min(6, input.value.split('\n').length);
    suggest();
  });
  form.addEventListener('keydown', (event) => {
    const choices = [input, ...suggestions.querySelectorAll('button')];
    const here = choices.indexOf(document.activeElement);
    if (event.key === 'Enter' && event.target === input && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === 'Escape') {
      input.value = '';
      suggest();
      input.focus();
    } else if (['ArrowUp', 'ArrowDown'].includes(event.key) && choices.length > 1 && input.rows === 1) {
      // The suggestions are above the field, the best one next to it.
      event.preventDefault();
      const step = event.key === 'ArrowUp' ? 1 : -1;
      choices[(here + step + choices.length) % choices.length].focus();
    }
  });
}

function prepare() {
  for (const close of document.querySelectorAll('.close')) close.append(icon('close'));
  byID('back').append(icon('back'));
  byID('more').append(icon('more'));
  document.querySelector('.add-button').append(icon('add'));
  byID('back').addEventListener('click', () => perform({ close: {} }));
  byID('pill').addEventListener('click', () => openSheet('sync-sheet'));
  byID('people').addEventListener('click', () => openSheet('share-sheet'));
  byID('more').addEventListener('click', () => openSheet('list-sheet'));
  byID('planning').addEventListener('click', () => perform({ goPlanning: {} }));
  byID('shopping').addEventListener('click', () => perform({ goShopping: {} }));
  byID('take-all').addEventListener('click', () => perform({ takeAllNotices: {} }));
  byID('clear').addEventListener('click', () => perform({ clearBought: {} }));
  byID('merge').addEventListener('click', () => perform({ mergeDuplicates: {} }));
  prepareLists();
  prepareAdding();
  prepareSheets();
}

prepare();
watch((next) => {
  if (next) return draw(next);
  byID('pill').dataset.kind = 'halted';
  setText(byID('pill-text'), 'App ended');
}).catch((error) => {
  byID('pill').hidden = true;
  byID('trouble').hidden = false;
  setText(byID('trouble'), error.message);
});
