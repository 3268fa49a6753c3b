// Three devices side by side: the page of each device is loaded from its own address.

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
