// The open list: aisles with their rows, and the notices about what others added.

import { byID, element, face, icon, reconcile, setText } from './elements.js';
import { perform } from './page.js';
import { drawPicture, forgetPictures } from './pictures.js';
import { openItem } from './sheets.js';

// The hue of each aisle, in the order in which one walks through the shop.
const hues = [
  110, 330, 35, 2, 205, 220, 178, 195, 18, 45, 285, 12, 140, 50, 340, 28, 38, 320, 25, 265, 350, 230, 250,
  300, 160, 325, 80,
];

export function drawList(open) {
  drawNotices(open);
  drawSections(open);
  const rows = open.sections.flatMap((section) => section.rows);
  forgetPictures(rows);
  byID('empty').hidden = rows.length > 0;
  setText(byID('empty-text'), open.isShopping
    ? 'Nothing to buy. What others add shows up here.' : 'Nothing to buy. Add the first thing below.');
  const clear = byID('clear');
  clear.hidden = open.boughtCount === 0;
  setText(clear, open.boughtCount === 1 ? 'Clear 1 bought item' : `Clear ${open.boughtCount} bought items`);
  byID('duplicates').hidden = open.duplicates.length === 0;
  setText(byID('duplicates').firstElementChild, open.duplicates.length === 0
    ? '' : 'Twice on the list: ' + open.duplicates.map((names) => names.join(' = ')).join(', ') + '.');
}

function drawNotices(open) {
  byID('notices').hidden = open.notices.length === 0;
  reconcile(byID('notice-rows'), open.notices, (notice) => notice.id, (notice) => {
    const button = element('button', { type: 'button', className: 'notice' },
      face(notice.addedBy), element('span', { className: 'words' },
        element('span', { className: 'notice-name' }), element('span', { className: 'small' })), icon('add'));
    button.addEventListener('click', () => perform({ takeNotice: { itemID: notice.id } }));
    return element('li', {}, button);
  }, (line, notice) => {
    setText(line.querySelector('.notice-name'), notice.name);
    setText(line.querySelector('.small'), `added by ${notice.addedBy}`);
    line.firstElementChild.setAttribute('aria-label',
      `${notice.name}, added by ${notice.addedBy}: put it on your list`);
  });
}

function drawSections(open) {
  // If the row with the focus is removed, the row that takes its position gets the focus.
  const focused = document.activeElement?.closest?.('.row')?.dataset.key;
  const before = [...document.querySelectorAll('.row')].map((row) => row.dataset.key);
  reconcile(byID('sections'), open.sections, (section) => `${section.aisle ?? ''} ${section.name}`, () =>
    element('section', { className: 'aisle' },
      element('h2', {}, element('span', { className: 'aisle-dot', 'aria-hidden': 'true' }),
        element('span', { className: 'aisle-name' }), element('span', { className: 'aisle-count' })),
      element('ul', { className: 'rows' })),
  (part, section) => {
    setText(part.querySelector('.aisle-name'), section.name);
    const left = section.rows.filter((row) => !row.isTicked && !row.isRemoved).length;
    setText(part.querySelector('.aisle-count'), left ? String(left) : '');
    part.querySelector('.aisle-count').setAttribute('aria-label', `${left} to buy`);
    part.querySelector('.rows').setAttribute('aria-label', section.name);
    part.style.setProperty('--hue', section.aisle === undefined ? 265 : hues[section.aisle % hues.length]);
    part.classList.toggle('plain-aisle', section.aisle === undefined && section.name === 'Other');
    reconcile(part.querySelector('.rows'), section.rows, (row) => row.id, makeRow, changeRow);
  });
  if (focused && !document.querySelector(`.row[data-key="${CSS.escape(focused)}"]`)) {
    const rows = [...document.querySelectorAll('.row input')];
    const place = Math.min(before.indexOf(focused), rows.length - 1);
    (rows[place] ?? byID('add-text')).focus();
  }
}

function makeRow(row) {
  const box = element('input', { type: 'checkbox', id: 'row-' + row.id });
  box.addEventListener('change', () =>
    perform(box.checked ? { tick: { itemID: row.id } } : { untick: { itemID: row.id } }));
  const again = element('button', { type: 'button', className: 'plain again' }, 'Put back');
  again.addEventListener('click', () => perform({ addAgain: { itemID: row.id } }));
  const more = element('button', { type: 'button', className: 'round more', 'aria-haspopup': 'dialog' }, icon('more'));
  more.addEventListener('click', () => openItem(row.id));
  const label = element('label', { htmlFor: box.id },
    element('span', { className: 'box', 'aria-hidden': 'true' }), element('span', { className: 'words' },
      element('span', { className: 'name' }), element('span', { className: 'note small' })),
    element('span', { className: 'mark' }));
  return element('li', { className: 'row' }, box, label, element('span', { className: 'picture' }), again, more);
}

function changeRow(line, row) {
  const box = line.querySelector('input');
  box.checked = row.isTicked;
  box.disabled = row.isRemoved;
  line.classList.toggle('ticked', row.isTicked);
  line.classList.toggle('removed', row.isRemoved);
  line.classList.toggle('changed', Boolean(row.changedBy));
  setText(line.querySelector('.name'), row.quantity > 1 ? `${row.quantity} × ${row.name}` : row.name);
  const words = [row.isRemoved ? 'taken off the list' : null, row.note,
    row.isTicked && row.tickedBy && !row.changedBy ? `bought by ${row.tickedBy}` : null];
  setText(line.querySelector('.note'), words.filter(Boolean).join(' · '));
  drawPicture(line.querySelector('.picture'), row);
  const mark = line.querySelector('.mark');
  if (mark.dataset.name !== (row.changedBy ?? '')) {
    mark.dataset.name = row.changedBy ?? '';
    mark.replaceChildren(...(row.changedBy
      ? [face(row.changedBy), element('span', {}, row.changedBy), element('span', { className: 'unseen' }, ' changed this')]
      : []));
  }
  line.querySelector('.again').hidden = !row.isRemoved;
  line.querySelector('.again').setAttribute('aria-label', `Put ${row.name} back on the list`);
  line.querySelector('.more').hidden = row.isRemoved;
  line.querySelector('.more').setAttribute('aria-label', `More about ${row.name}`);
}
