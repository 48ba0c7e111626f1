// What script adds to pages that work without it: live status, a countdown, a search box, and a
// button that is pressed once.
'use strict';
{
  const one = (selector) => document.querySelector(selector);
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // A form is sent once. Coming back to the page, from the browser's own store as well, makes it
  // ready again.
  const sendOnce = () => {
    each('form[data-once]', (form) => form.addEventListener('submit', (event) => {
      if (form.dataset.sent) { event.preventDefault(); return; }
      form.dataset.sent = 'yes';
      form.querySelector('[type=submit]').classList.add('sent');
      form.setAttribute('aria-busy', 'true');
    }));
    addEventListener('pageshow', () => each('form[data-once]', (form) => {
      delete form.dataset.sent;
      form.removeAttribute('aria-busy');
      form.querySelector('[type=submit]').classList.remove('sent');
    }));
  };

  const findMethods = () => {
    const search = one('[data-search]');
    if (!search) return;
    search.hidden = false;
    const rows = [...document.querySelectorAll('[data-methods] li')];
    const plain = (text) => text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase();
    search.querySelector('input').addEventListener('input', (event) => {
      const wanted = plain(event.target.value.trim());
      rows.forEach((row) => { row.hidden = !plain(row.textContent).includes(wanted); });
      const found = one('#found');
      found.textContent = wanted && `${found.dataset.found} ${rows.filter((row) => !row.hidden).length}`;
    });
  };

  // Time is counted from the server's word at loading, not from this device's clock.
  const words = (seconds) => {
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    if (hours >= 48) return Math.floor(hours / 24) + ' ' + one('[data-left]').dataset.days;
    if (hours > 0) return hours + ' h ' + String(minutes % 60).padStart(2, '0') + ' min';
    return minutes + ' min ' + String(seconds % 60).padStart(2, '0') + ' s';
  };
  const countDown = () => {
    const left = one('[data-left]');
    if (!left) return;
    const start = performance.now();
    const total = Number(left.dataset.left);
    const face = document.createElement('b');
    left.textContent = left.dataset.label + ' ';
    left.append(face);
    const warning = one('[data-warning]');
    const tick = () => {
      const seconds = Math.max(0, Math.ceil(total - (performance.now() - start) / 1000));
      if (seconds > 0) face.textContent = words(seconds);
      if (seconds <= 60 && !warning.textContent) warning.textContent = warning.dataset.warning;
      if (seconds === 0) end();
    };
    // The old page stays until the next one has loaded: it says at once that the time is over, and
    // offers nothing to pay.
    const end = () => {
      clearInterval(timer);
      left.textContent = left.dataset.over;
      warning.textContent = left.dataset.over;
      const isToSend = left.closest('.pay');
      const offers = isToSend ? '.pay > :not(.left):not([data-warning]), .act, .qrs, .warnings'
        : '.methods, .search, main form';
      each(offers, (part) => { part.hidden = true; });
      location.reload();
    };
    const timer = setInterval(tick, 1000);
    tick();
  };

  // Codes are most often digits; a keyboard with letters is one press away.
  const offerLetters = () => {
    const letters = one('[data-letters]');
    if (!letters) return;
    letters.hidden = false;
    letters.addEventListener('click', () => {
      const code = one('#code');
      code.inputMode = 'text';
      code.focus();
      letters.hidden = true;
    });
  };

  // Moments in the reader's own time zone, with its name; without script they are given in UTC. The
  // form is that of the server; only the name of the zone follows the browser's region. The month
  // is a word, so that no reader takes it for the day.
  const localTimes = () => {
    const { lang } = document.documentElement;
    const isOurs = (tag) => tag.toLowerCase().startsWith(`${lang}-`);
    const region = (navigator.languages || []).find(isOurs) || (lang === 'en' ? 'en-GB' : lang);
    const written = lang === 'en' ? 'en-GB' : lang;
    const format = (locale, options) => new Intl.DateTimeFormat(locale, options);
    const day = format(written, { day: 'numeric', month: 'long', year: 'numeric' });
    const clock = format(written, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    const zones = format(region, { hour: 'numeric', timeZoneName: 'short' });
    const zone = (at) => zones.formatToParts(at).find((part) => part.type === 'timeZoneName').value;
    each('time[datetime]', (time) => {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) return;
      const date = lang === 'fr' ? `${day.format(at).replace(/^1 /, '1er ')} à ` : `${day.format(at)}, `;
      time.textContent = `${date}${clock.format(at)} ${zone(at)}`;
    });
  };

  const offerToCopy = () => {
    each('[data-copy]', (value) => {
      if (!navigator.clipboard) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'copier';
      button.textContent = value.dataset.copy;
      button.addEventListener('click', async () => {
        await navigator.clipboard.writeText(value.dataset.text || value.textContent.trim());
        button.textContent = value.dataset.copied;
      });
      const place = value.closest('[data-copies]');
      if (place) place.append(button); else value.after(button);
    });
  };

  const followStatus = () => {
    const live = one('[data-live]');
    if (!live) return;
    const { live: seen, events, status, next } = live.dataset;
    const look = (now) => { if (now && now !== seen) location.replace(next); };
    // The words depend on the time that has passed: the page loads itself again for the next ones.
    const changes = Number(live.dataset.changes);
    if (changes > 0) setTimeout(() => location.replace(next), changes * 1000);
    let wait = 3000;
    const poll = async () => {
      try {
        const answer = await fetch(status, { cache: 'no-store' });
        if (answer.ok) look((await answer.json()).stand);
      } catch { /* no network now; there is a next time */ }
      wait = Math.min(wait * 1.3, 10000);
      setTimeout(poll, wait);
    };
    let polling = false;
    const fallBack = () => { if (!polling) { polling = true; setTimeout(poll, wait); } };
    if ('EventSource' in window) {
      const source = new EventSource(events);
      source.onmessage = (event) => look(event.data);
      source.onerror = () => { if (source.readyState === EventSource.CLOSED) fallBack(); };
      // A proxy that holds the stream back must not hold the payer back.
      setTimeout(() => { if (source.readyState !== EventSource.OPEN) { source.close(); fallBack(); } }, 6000);
      addEventListener('pagehide', () => source.close());
    } else {
      fallBack();
    }
    addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
  };

  // Returns to the merchant automatically, late enough to read the page, with a button that stops
  // it.
  const goBack = () => {
    const leave = one('[data-leave]');
    if (!leave) return;
    const stay = one('[data-stay]');
    const says = one('[data-leaving]');
    const stays = says.textContent;
    const end = performance.now() + Number(leave.dataset.leave) * 1000;
    const tick = () => {
      const left = Math.ceil((end - performance.now()) / 1000);
      if (left <= 0) { clearInterval(timer); location.assign(leave.href); return; }
      says.textContent = says.dataset.leaving.replace('%s', left);
    };
    const timer = setInterval(tick, 1000);
    tick();
    stay.hidden = false;
    stay.addEventListener('click', () => {
      clearInterval(timer);
      says.textContent = stays;
      stay.hidden = true;
    });
    addEventListener('pagehide', () => clearInterval(timer));
  };

  const added = [sendOnce, findMethods, countDown, offerLetters, localTimes, offerToCopy,
    followStatus, goBack];
  for (const add of added) add();
}
