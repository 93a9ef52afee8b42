'use strict';
// Everything that a session holds is put into the page as text, by textContent, and never as markup.
(() => {
  const OUTPUT_LINES_OPEN = 14;
  const OUTPUT_CHARACTERS_OPEN = 1500;
  const PROSE_CHARACTERS_OPEN = 20000;
  const LEVELS_INDENTED = 16;
  const PREVIEW_CHARACTERS = 60;
  const LETTERS = { user: 'U', assistant: 'A', tool: 'T', system: 'S', other: 'O', summary: 'Σ', note: '·' };
  const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

  const byId = (id) => document.getElementById(id);
  const session = JSON.parse(byId('session').textContent);
  const records = document.getElementsByClassName('record');
  const nodes = session.nodes.map(([id, parent, speaker, title, preview, label, active], index) =>
    ({ id, parent: parent ?? -1, speaker, title, preview, label, active, index, children: [], level: 0, end: index + 1 }));
  const numbers = new Map(nodes.map((node) => [node.id, node.index]));
  const roots = nodes.filter((node) => node.parent < 0);

  // Parents come before their children. A run without branches stays in its column.
  for (const node of nodes) {
    const parent = nodes[node.parent];
    if (parent) parent.children.push(node);
  }
  for (const node of nodes) {
    const parent = nodes[node.parent];
    node.level = (parent ? parent.level : 0) + ((parent ? parent.children : roots).length > 1 ? 1 : 0);
  }
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const parent = nodes[nodes[index].parent];
    if (parent) parent.end = Math.max(parent.end, nodes[index].end);
  }

  // Text.

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
  const shortened = (text) => (text.length > PREVIEW_CHARACTERS ? `${text.slice(0, PREVIEW_CHARACTERS).toWellFormed?.() ?? ''}…` : text);
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

  const article = (node) => {
    const record = JSON.parse(records[node.index].textContent);
    const link = element('a', '', node.id);
    link.href = `#${encodeURIComponent(node.id)}`;
    const facts = element('span', 'facts', shownTime(record.time), ' · ', link);
    for (const fact of record.facts) facts.append(' · ', isolated('', fact));
    const title = element('h2', '', isolated('', record.title));
    const who = element('div', 'who', badge(record.speaker), title);
    if (record.failed) who.append(element('span', 'failed', '✗ failed'));
    who.append(facts);
    if (node.index === session.leaf) who.append(element('span', 'pill leaf', 'leaf'));
    const made = element('article', record.speaker, who, ...record.parts.map(shownPart));
    made.id = `entry-${node.index}`;
    made.tabIndex = -1;
    title.id = `title-${node.index}`;
    made.setAttribute('aria-labelledby', title.id);
    return made;
  };

  /** Where else one can go from an entry: its children that are not on the path that is shown. */
  const ways = (node, next) => {
    const others = node.children.filter((child) => child !== next);
    if (others.length === 0) return [];
    const words = next ? 'Other branches from here:' : 'The session stands here. What follows was left:';
    const made = element('nav', 'ways', words);
    for (const child of others) made.append(goTo(child, `${child.title}: ${child.preview}`));
    return [made];
  };

  const goTo = (node, text) => {
    const button = element('button', '', isolated('', shortened(text)));
    button.type = 'button';
    button.addEventListener('click', () => show(node, true));
    return button;
  };

  // The tree.

  const tree = byId('tree');
  const rows = nodes.map((node) => {
    const folds = node.children.length > 1;
    const fold = element('span', 'fold', folds ? '▾' : '');
    const dot = element('span', 'dot', node.active ? '●' : '');
    fold.ariaHidden = dot.ariaHidden = 'true';
    const spoken = `${node.title}${node.active ? ', on the active path' : ''}: `;
    const row = element('div', `row ${node.speaker}`, fold, dot, badge(node.speaker),
      element('span', 'spoken', visible(spoken)), isolated('preview', node.preview || node.title));
    if (node.label) row.append(element('span', 'spoken', ', label '), isolated('pill label', node.label));
    if (node.index === session.leaf) row.append(element('span', 'pill leaf', 'leaf'));
    row.setAttribute('role', 'treeitem');
    row.setAttribute('aria-level', String(node.level + 1));
    row.setAttribute('aria-selected', 'false');
    if (folds) row.setAttribute('aria-expanded', 'true');
    row.dataset.index = String(node.index);
    row.tabIndex = -1;
    row.style.setProperty('--level', String(Math.min(node.level, LEVELS_INDENTED)));
    return row;
  });
  tree.append(...rows);
  if (nodes.length === 0) tree.append(element('p', 'hint', '(empty tree)'));

  let focused = rows[0];
  const focus = (row) => {
    focused.tabIndex = -1;
    focused = row;
    focused.tabIndex = 0;
    focused.focus({ preventScroll: true });
    focused.scrollIntoView({ block: 'nearest' });
  };
  if (focused) focused.tabIndex = 0;

  const isOpen = (row) => row.getAttribute('aria-expanded') !== 'false';

  /** Folds or unfolds a branching point; what was folded inside stays folded. */
  const fold = (node, open) => {
    rows[node.index].setAttribute('aria-expanded', String(open));
    rows[node.index].firstChild.textContent = open ? '▾' : '▸';
    let index = node.index + 1;
    while (index < node.end) {
      rows[index].hidden = !open;
      index = open && !isOpen(rows[index]) ? nodes[index].end : index + 1;
    }
  };

  /** Unfolds everything above an entry. */
  const reveal = (node) => {
    for (let above = nodes[node.parent]; above; above = nodes[above.parent]) {
      if (!isOpen(rows[above.index])) fold(above, true);
    }
  };

  const neighbour = (row, step) => {
    let index = Number(row.dataset.index) + step;
    while (rows[index]?.hidden) index += step;
    return rows[index];
  };

  /** The entry above at which the tree branches. */
  const branchingPoint = (node) => {
    let above = nodes[node.parent];
    while (above && above.children.length < 2 && above.parent >= 0) above = nodes[above.parent];
    return above;
  };

  const moves = {
    ArrowDown: (row) => neighbour(row, 1),
    ArrowUp: (row) => neighbour(row, -1),
    Home: () => rows[0],
    End: (row) => {
      let last = rows[rows.length - 1];
      if (last.hidden) last = neighbour(last, -1);
      return last ?? row;
    },
    ArrowRight: (row) => {
      const node = nodes[Number(row.dataset.index)];
      if (isOpen(row)) return rows[node.children[0]?.index];
      fold(node, true);
      return row;
    },
    ArrowLeft: (row) => {
      const node = nodes[Number(row.dataset.index)];
      if (node.children.length < 2 || !isOpen(row)) return rows[branchingPoint(node)?.index];
      fold(node, false);
      return row;
    },
  };

  tree.addEventListener('keydown', (event) => {
    const row = event.target.closest('.row');
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      show(nodes[Number(row.dataset.index)], true);
    } else if (Object.hasOwn(moves, event.key)) {
      const next = moves[event.key](row);
      if (next) focus(next);
    } else {
      return;
    }
    event.preventDefault();
  });

  tree.addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (!row) return;
    const node = nodes[Number(row.dataset.index)];
    focus(row);
    if (event.target.classList.contains('fold') && node.children.length > 1) fold(node, !isOpen(row));
    else show(node, true);
  });

  // What is shown.

  let shownPath = [];
  let chosen = null;

  /** The path through an entry: the active path ends at the leaf, any other goes on to the newest tip. */
  const pathThrough = (node) => {
    let end = node;
    if (node.active && session.leaf !== null) end = nodes[session.leaf];
    else while (end.children.length > 0) end = end.children[end.children.length - 1];
    const path = [];
    for (let at = end; at; at = nodes[at.parent]) path.push(at);
    return path.reverse();
  };

  const tellStatus = () => {
    const last = shownPath[shownPath.length - 1];
    const active = last?.index === session.leaf;
    const status = byId('status');
    if (!last) {
      status.textContent = nodes.length === 0 ? '(empty)' : 'The session stands before its first entry: choose a branch.';
      return;
    }
    const entries = count(shownPath.length, 'entry', 'entries');
    status.replaceChildren(`${active ? 'The active path' : 'A branch that is not active'}: ${entries}, up to `,
      element('code', '', last.id), '. ');
    if (!active && session.leaf !== null) status.append(goTo(nodes[session.leaf], 'Show the active path'));
  };

  const showPath = (path) => {
    for (const node of shownPath) rows[node.index].classList.remove('shown');
    for (const node of path) rows[node.index].classList.add('shown');
    shownPath = path;
    byId('path').replaceChildren(...path.flatMap((node, at) => [article(node), ...ways(node, path[at + 1])]));
    tellStatus();
  };

  /** Shows the path through an entry, and the entry. */
  const show = (node, scroll) => {
    const path = pathThrough(node);
    if (path.length !== shownPath.length || path[path.length - 1] !== shownPath[shownPath.length - 1]) showPath(path);
    if (chosen) {
      rows[chosen.index].setAttribute('aria-selected', 'false');
      byId(`entry-${chosen.index}`)?.classList.remove('chosen');
    }
    chosen = node;
    rows[node.index].setAttribute('aria-selected', 'true');
    reveal(node);
    rows[node.index].scrollIntoView({ block: 'nearest' });
    if (!scroll) return;
    const target = byId(`entry-${node.index}`);
    target.classList.add('chosen');
    target.scrollIntoView({ block: 'start' });
    try {
      history.replaceState(null, '', `#${encodeURIComponent(node.id)}`);
    } catch {
      // Some viewers allow no addresses; then there is none to share.
    }
  };

  const named = () => {
    try {
      return nodes[numbers.get(decodeURIComponent(location.hash.slice(1)))];
    } catch {
      return undefined;
    }
  };

  addEventListener('hashchange', () => {
    const node = named();
    if (node) show(node, true);
  });

  // Begin.

  byId('title').append(visible(session.title));
  for (const [name, value] of session.about) byId('about').append(element('dt', '', name), element('dd', '', isolated('', value)));
  const start = named() ?? nodes[session.start ?? -1];
  if (start) {
    show(start, start.index !== session.leaf || location.hash !== '');
    focused.tabIndex = -1;
    focused = rows[start.index];
    focused.tabIndex = 0;
    focused.scrollIntoView({ block: 'center' });
  } else {
    tellStatus();
  }
})();
