// All elements are created here, and never from HTML text: what people type is shown as text, even if it looks like HTML.

export const byID = (id) => document.getElementById(id);

/** An element with properties, attributes and children; a string becomes a text node. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name in made && name !== 'list') made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const shapes = {
  back: 'M15 5l-7 7 7 7', more: 'M5 12h.01M12 12h.01M19 12h.01', close: 'M6 6l12 12M18 6L6 18',
  add: 'M12 5v14M5 12h14', people: 'M9 11a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM2.5 20c.6-3.6 3.2-5.5 6.5-5.5s5.900 1.900 6.500 5.500M16 4.500a3.500 3.500 0 010 6.500M18.500 14.800c1.700.8 2.700 2.500 3 5.200',
  again: 'M4 12a8 8 0 108-8 8 8 0 00-6.500 3.300M5 3v4.500h4.500',
};

export function icon(name) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  made.setAttribute('viewBox', '0 0 24 24');
  made.setAttribute('class', 'icon icon-' + name);
  made.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', shapes[name]);
  made.append(path);
  return made;
}

/**
 * Updates the children of an element to a list of values. Children whose value remains are changed in place, so that the
 * focus and the position of a screen reader are kept.
 */
export function reconcile(parent, values, keyOf, make, change) {
  const former = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const value of values) {
    const key = String(keyOf(value));
    let child = former.get(key);
    former.delete(key);
    if (!child) {
      child = make(value);
      child.dataset.key = key;
    }
    change?.(child, value);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of former.values()) child.remove();
}

/** Sets a text if it differs, because a screen reader reads every text that is set. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** The first letter of a name on a colour that depends only on the name. */
export function face(name) {
  let hue = 7;
  for (const character of name) hue = (hue * 31 + character.codePointAt(0)) % 360;
  const made = element('span', { className: 'face', 'aria-hidden': 'true' },
    [...name][0]?.toUpperCase() ?? '?');
  made.style.setProperty('--hue', hue);
  return made;
}

/** Shows the outcome of an action in the form or sheet that started it. */
export function say(holder, answer) {
  const place = holder.querySelector('.outcome');
  place.hidden = !answer?.sentence;
  place.classList.toggle('bad', answer?.isError === true);
  setText(place, answer?.sentence ?? '');
}
