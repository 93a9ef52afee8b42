'use strict';
// What an entry says, as elements. Everything that a session holds is put into the page as text and never as markup.
const parts = (() => {
  const OUTPUT_LINES_OPEN = 14;
  const OUTPUT_CHARACTERS_OPEN = 1500;
  const PROSE_CHARACTERS_OPEN = 20000;
  const PREVIEW_CHARACTERS = 60;
  const LETTERS = { user: 'U', assistant: 'A', tool: 'T', system: 'S', other: 'O', summary: 'Σ', note: '·' };
  const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

  const element = (name, className, ...content) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...content);
    return made;
  };

  /** Line feeds are the only line breaks, and control characters become their pictures. */
  const visible = (text) => text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g,
    (character) => String.fromCharCode(character === '\u007f' ? 0x2421 : 0x2400 + character.charCodeAt(0)));

  const count = (number, one, more) => `${number.toLocaleString('en')} ${number === 1 ? one : more}`;
  const lineCount = (text) => text.split('\n').length;
  const shortened = (text) =>
    (text.length > PREVIEW_CHARACTERS ? `${[...text].slice(0, PREVIEW_CHARACTERS).join('')}…` : text);
  const isolated = (className, text) => element('bdi', className, visible(text));

  const shownTime = (time) => {
    const made = element('time', '', time.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, '$1 $2 UTC'));
    made.dateTime = time;
    return made;
  };

  const folded = (className, summary, makeContent) => {
    const details = element('details', className, element('summary', '', ...summary));
    details.append(makeContent());
    return details;
  };

  /** Inline code and bold of a run of prose. */
  const inlines = (text) => {
    const parts = [];
    let from = 0;
    for (const found of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*/g)) {
      parts.push(text.slice(from, found.index), element(found[1] ? 'code' : 'strong', '', found[1] ?? found[2]));
      from = found.index + found[0].length;
    }
    parts.push(text.slice(from));
    return parts.filter((part) => part !== '');
  };

  const paragraph = (className, text) => {
    const made = element('div', className, ...inlines(text));
    made.dir = 'auto';
    return made;
  };

  const pre = (text) => {
    const made = element('pre', '', text);
    made.dir = 'auto';
    // What scrolls must be reachable by the keyboard.
    made.tabIndex = 0;
    return made;
  };

  /** The little of Markdown that helps reading: fenced code and headings on lines of their own. */
  const prose = (text) => {
    const made = element('div', 'text');
    let lines = [];
    let fence = null;
    const flush = (isCode) => {
      if (isCode) made.append(pre(lines.join('\n')));
      else if (lines.length > 0) made.append(paragraph('prose', lines.join('\n')));
      lines = [];
    };
    for (const line of text.split('\n')) {
      const mark = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line);
      if (fence === null && mark) {
        flush(false);
        fence = mark[1];
      } else if (fence !== null && mark && mark[1].startsWith(fence) && mark[2].trim() === '') {
        flush(true);
        fence = null;
      } else if (fence === null && /^#{1,6} \S/.test(line)) {
        flush(false);
        made.append(paragraph('prose heading', line.replace(/^#+ /, '')));
      } else if (fence === null && line.trim() === '') {
        flush(false);
      } else {
        lines.push(line);
      }
    }
    flush(fence !== null);
    return made;
  };

  // Parts of an entry.

  const longText = (className, name, text, make) =>
    folded(className, [`${name}, ${count(lineCount(text), 'line', 'lines')}, ${count(text.length, 'character', 'characters')}: `,
      isolated('', shortened(text.slice(0, 400).trim().split('\n')[0]))], make);

  const output = (text) => {
    if (text.trim() === '') return element('p', 'facts', '(no output)');
    const isShort = text.length <= OUTPUT_CHARACTERS_OPEN && lineCount(text) <= OUTPUT_LINES_OPEN;
    return isShort ? pre(text) : longText('output', 'Output', text, () => pre(text));
  };

  const call = (part) => {
    const text = visible(part.text);
    const title = element('p', '', 'Calls ', element('code', '', visible(part.name)));
    const isShort = text.length <= OUTPUT_CHARACTERS_OPEN && lineCount(text) <= OUTPUT_LINES_OPEN;
    const body = isShort ? pre(text) : longText('', 'Arguments', text, () => pre(text));
    return text === '' ? element('div', 'call', title) : element('div', 'call', title, body);
  };

  const picture = (part) => {
    const summary = `Image, ${part.mime || 'of an unknown type'}, ${count(Math.ceil(part.data.length * 0.75), 'byte', 'bytes')}`;
    if (!PICTURES.has(part.mime)) return element('p', 'facts', summary);
    const details = folded('', [summary], () => '');
    details.addEventListener('toggle', () => {
      const image = element('img');
      image.alt = '';
      image.src = `data:${part.mime};base64,${part.data}`;
      details.append(image);
    }, { once: true });
    return details;
  };

  const shownPart = (part) => {
    switch (part.type) {
      case 'text': {
        const text = visible(part.text);
        return text.length <= PROSE_CHARACTERS_OPEN ? prose(text) : longText('', 'Text', text, () => prose(text));
      }
      case 'thinking': {
        const text = visible(part.text);
        return longText('thinking', 'Thinking', text, () => paragraph('prose', text));
      }
      case 'call': return call(part);
      case 'output': return output(visible(part.text));
      case 'image': return picture(part);
      default: return element('p', 'facts', `A block of the type ${visible(part.name || 'that is not named')}`);
    }
  };

  const badge = (speaker) => {
    const made = element('span', 'badge', LETTERS[speaker]);
    made.ariaHidden = 'true';
    return made;
  };

  return { LETTERS, badge, count, element, isolated, shortened, shownPart, shownTime, visible };
})();
