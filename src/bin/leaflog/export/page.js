// The tree, the path that is shown, and how one goes from branch to branch.
(() => {
  const { LETTERS, badge, count, element, isolated, shortened, shownPart, shownTime, visible } = parts;
  const LEVELS_INDENTED = 16;
  // Longer paths are filled in where they are looked at.
  const ENTRIES_AT_ONCE = 1000;
  const ENTRIES_IN_CHUNK = 200;

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
  /** Few elements a row: the style sheet adds the dot of the active path and the badge. */
  const rows = nodes.map((node) => {
    const row = element('div', `row ${node.speaker}${node.active ? ' active' : ''}`);
    const said = visible(node.preview || node.title);
    if (node.children.length > 1) {
      row.append(element('span', 'fold', '▾'));
      row.setAttribute('aria-expanded', 'true');
    }
    row.append(element('bdi', 'preview', said));
    if (node.label) row.append(isolated('pill label', node.label));
    if (node.index === session.leaf) row.append(element('span', 'pill leaf', 'leaf'));
    row.setAttribute('role', 'treeitem');
    row.setAttribute('aria-level', String(node.level + 1));
    row.setAttribute('aria-selected', 'false');
    const spoken = [visible(node.title), node.active ? ', on the active path' : '', node.index === session.leaf ? ', the leaf' : '',
      node.label ? `, label ${visible(node.label)}` : '', node.preview ? `: ${said}` : ''];
    row.setAttribute('aria-label', spoken.join(''));
    row.dataset.index = String(node.index);
    row.dataset.letter = LETTERS[node.speaker];
    row.tabIndex = -1;
    if (node.level > 0) row.style.setProperty('--level', String(Math.min(node.level, LEVELS_INDENTED)));
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

  const articles = (path, from, to) =>
    path.slice(from, to).flatMap((node, at) => [article(node), ...ways(node, path[from + at + 1])]);

  /** The chunks of a long path that are still empty, by what fills them. */
  const empty = new Map();
  const fill = (chunk) => {
    const make = empty.get(chunk);
    if (!make) return;
    empty.delete(chunk);
    looked.unobserve(chunk);
    chunk.style.minHeight = '';
    chunk.append(...make());
  };
  const looked = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) fill(target);
  }, { root: byId('conversation'), rootMargin: '1500px' });
  addEventListener('beforeprint', () => [...empty.keys()].forEach(fill));

  const chunks = (path) => {
    const made = [];
    for (let from = 0; from < path.length; from += ENTRIES_IN_CHUNK) {
      const to = Math.min(from + ENTRIES_IN_CHUNK, path.length);
      const chunk = element('div', 'chunk');
      chunk.style.minHeight = `${(to - from) * 8}rem`;
      empty.set(chunk, () => articles(path, from, to));
      made.push(chunk);
    }
    return made;
  };

  const showPath = (path) => {
    for (const node of shownPath) rows[node.index].classList.remove('shown');
    for (const node of path) rows[node.index].classList.add('shown');
    shownPath = path;
    looked.disconnect();
    empty.clear();
    byId('path').replaceChildren(...(path.length > ENTRIES_AT_ONCE ? chunks(path) : articles(path, 0, path.length)));
    for (const chunk of empty.keys()) looked.observe(chunk);
    tellStatus();
  };

  /** The article of an entry of the path that is shown. */
  const articleOf = (node) => {
    if (empty.size > 0) {
      const at = shownPath.indexOf(node);
      fill(byId('path').children[Math.floor(at / ENTRIES_IN_CHUNK)]);
    }
    return byId(`entry-${node.index}`);
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
    const target = articleOf(node);
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
