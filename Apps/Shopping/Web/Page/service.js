// The connection to the app on this machine. The secret is in the address after the #, which browsers do not send, and is
// kept for this tab only. It is sent in a header, which pages of other origins cannot set.

const place = 'secret of ' + location.pathname;
const given = location.hash.slice(1);
if (/^[0-9a-f]{32}$/.test(given)) {
  sessionStorage.setItem(place, given);
  history.replaceState(null, '', location.pathname);
}
const secret = sessionStorage.getItem(place) ?? '';

function request(path, options = {}) {
  return fetch(path, {
    ...options, headers: { ...options.headers, Authorization: 'Bearer ' + secret },
  });
}

export class NotLetIn extends Error {}

/** Requests an action; returns a sentence, if there is one, and whether it is an error. */
export function act(action, listID) {
  return post('api/actions', 'application/json', JSON.stringify({ listID, action }));
}

export function sendPicture(picture, itemID, listID) {
  const query = new URLSearchParams({ item: itemID, list: listID });
  return post('api/picture?' + query, picture.type, picture);
}

export async function fetchPicture(itemID) {
  const answer = await request('api/picture?' + new URLSearchParams({ item: itemID }));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.blob();
}

async function post(path, type, body) {
  try {
    const answer = await request(path, { method: 'POST', headers: { 'Content-Type': type }, body });
    if (answer.status === 200 || answer.status === 422) return await answer.json();
    return { sentence: (await answer.text()).trim(), isError: true };
  } catch {
    return { sentence: 'The app does not run on this machine any more; start it again, and open the address that it prints.', isError: true };
  }
}

export async function look(path, text) {
  const answer = await request('api/' + path + (text ? '?text=' + encodeURIComponent(text) : ''));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** Calls `show` with each new state, and with null while the app cannot be reached. Ends only if the app refuses the secret. */
export async function watch(show) {
  for (;;) {
    if (document.hidden) {
      await new Promise((seen) => document.addEventListener('visibilitychange', seen, { once: true }));
      continue;
    }
    const ending = new AbortController();
    const hide = () => { if (document.hidden) ending.abort(); };
    document.addEventListener('visibilitychange', hide);
    try {
      const answer = await request('api/states', { signal: ending.signal });
      if (answer.status === 401) throw new NotLetIn((await answer.text()).trim());
      let text = '';
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const events = text.split('\n\n');
        text = events.pop();
        // If several events have arrived, only the newest is needed.
        if (events.length) show(JSON.parse(events.at(-1).slice('data: '.length)));
      }
    } catch (error) {
      if (error instanceof NotLetIn) throw error;
    } finally {
      document.removeEventListener('visibilitychange', hide);
    }
    if (!document.hidden) {
      show(null);
      await new Promise((again) => setTimeout(again, 1000));
    }
  }
}
