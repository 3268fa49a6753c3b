// Three devices side by side: each is the page of a device of its own, at an address of its own.

import { look } from './service.js';
import { byID, element } from './elements.js';

try {
  for (const { title, address } of await look('frames')) {
    byID('devices').append(element('figure', {}, element('figcaption', {}, title),
      element('iframe', { title, src: address })));
  }
} catch (error) {
  byID('trouble').hidden = false;
  byID('trouble').textContent = error.message;
}
