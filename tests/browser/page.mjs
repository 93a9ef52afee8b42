// Opens a page that `leaflog export --format html` wrote, looks at it, and uses it as people do.
//
//   node page.mjs PAGE.html EXPECTED.json        (LEAFLOG_BROWSER names the browser)

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { open } from './lib.mjs';

const [, , file, wanted] = process.argv;
const expected = JSON.parse(readFileSync(wanted, 'utf8'));
const { page, seen, close } = await open(pathToFileURL(file).href);

const row = (id) => page.locator(`.row[data-index="${numberOf.get(id)}"]`);
const shownIds = () => page.$$eval('article .facts a', (links) => links.map((link) => link.textContent));
const texts = async (id) => page.locator(`#entry-${numberOf.get(id)}`).evaluate((article) => article.textContent);
const focusedIndex = () => page.evaluate(() => Number(document.activeElement.dataset.index));
const nodes = await page.evaluate(() => JSON.parse(document.getElementById('session').textContent).nodes);
const numberOf = new Map(nodes.map(([id], index) => [id, index]));

const checks = {
  async 'the page opens at the active path, with every entry in the tree'() {
    assert.equal(await page.locator('[role=tree] [role=treeitem]').count(), expected.treeEntries);
    assert.deepEqual(await shownIds(), expected.active);
    assert.match(await page.locator('#status').textContent(), /^The active path: /);
    assert.equal(await row(expected.leaf).getAttribute('aria-selected'), 'true');
    assert.equal(await row(expected.leaf).locator('.leaf').count(), 1);
    assert.equal(await page.locator('h1').textContent(), 'Torn tails <b>and</b> branches');
  },

  async 'it is there soon'() {
    const timing = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domComplete);
    assert.ok(timing < 10000, `${timing} ms`);
  },

  async 'runs without branches do not indent'() {
    const levels = await page.$$eval('.row', (rows) => rows.map((row) => Number(row.getAttribute('aria-level'))));
    assert.ok(Math.max(...levels) <= 4, `${Math.max(...levels)} levels`);
  },

  async 'a click on the tip of another branch shows that branch'() {
    await row(expected.left).click();
    assert.deepEqual(await shownIds(), expected.leftPath);
    assert.match(await page.locator('#status').textContent(), /^A branch that is not active: /);
    assert.equal(await row(expected.left).getAttribute('aria-selected'), 'true');
    await page.getByRole('button', { name: 'Show the active path' }).click();
    assert.deepEqual(await shownIds(), expected.active);
  },

  async 'a click inside a branch shows it to its tip, and the entry'() {
    await row(expected.leftMiddle).click();
    assert.deepEqual(await shownIds(), expected.leftPath);
    assert.equal(await page.locator('article.chosen').getAttribute('id'), `entry-${numberOf.get(expected.leftMiddle)}`);
    await row(expected.active[10]).click();
    assert.deepEqual(await shownIds(), expected.active);
  },

  async 'where the path branches the other ways are buttons'() {
    const button = page.locator('.ways button').first();
    const words = await button.textContent();
    await button.click();
    assert.match(await page.locator('#status').textContent(), /^A branch that is not active: /);
    const chosen = await page.locator('article.chosen').textContent();
    assert.ok(words.startsWith('Result of bash: ') && chosen.includes('Result of bash'), words);
    await page.getByRole('button', { name: 'Show the active path' }).click();
  },

  async 'the keyboard alone shows another branch'() {
    await page.reload();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.keyboard.press('Tab');
    assert.equal(await focusedIndex(), numberOf.get(expected.leaf));
    await page.keyboard.press('Home');
    assert.equal(await focusedIndex(), 0);
    await page.keyboard.press('End');
    assert.equal(await focusedIndex(), nodes.length - 1);
    for (let from = nodes.length - 1; from > numberOf.get(expected.left); from -= 1) await page.keyboard.press('ArrowUp');
    assert.equal(await focusedIndex(), numberOf.get(expected.left));
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid', 'the focus can be seen');
    assert.deepEqual(await shownIds(), expected.active, 'arrows alone change nothing');
    await page.keyboard.press('Enter');
    assert.deepEqual(await shownIds(), expected.leftPath);
    assert.equal(await focusedIndex(), numberOf.get(expected.left), 'the focus stays in the tree');
  },

  async 'left and right fold, unfold, and go to where the tree branches'() {
    await page.keyboard.press('ArrowLeft');
    const branching = await focusedIndex();
    const folding = page.locator(`.row[data-index="${branching}"]`);
    assert.equal(await folding.getAttribute('aria-expanded'), 'true');
    await page.keyboard.press('ArrowLeft');
    assert.equal(await folding.getAttribute('aria-expanded'), 'false');
    assert.equal(await row(expected.left).isVisible(), false);
    await page.keyboard.press('ArrowDown');
    assert.ok(await focusedIndex() > numberOf.get(expected.left), 'what is folded is passed over');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowRight');
    assert.equal(await folding.getAttribute('aria-expanded'), 'true');
    assert.equal(await row(expected.left).isVisible(), true);
    await page.keyboard.press('ArrowRight');
    assert.equal(await focusedIndex(), branching + 1);
  },

  async 'an address shows its entry, and a folded branch opens for it'() {
    await page.goto(`${pathToFileURL(file).href}#${expected.early}`);
    assert.deepEqual(await shownIds(), expected.active);
    assert.equal(await page.locator(`#entry-${numberOf.get(expected.early)}.chosen`).count(), 1);
    await page.waitForFunction((index) => {
      const box = document.getElementById(`entry-${index}`).getBoundingClientRect();
      return box.top >= 0 && box.top < 200;
    }, numberOf.get(expected.early));
  },

  async 'texts that mean harm are texts'() {
    const shown = await page.evaluate(() => [...document.querySelectorAll('article')].map((article) => article.textContent));
    for (const text of expected.hostile) {
      assert.ok(shown.some((article) => article.includes(text)), text.slice(0, 80));
    }
    const odd = await texts(expected.odd);
    assert.ok(odd.includes('nul \u2400, lone \ufffd and \ufffd, escape \u241b[31m'), odd);
    const tool = await texts(expected.tool);
    assert.ok(tool.includes('Calls </script><b>') && tool.includes('<i>: </script><img src=x onerror=window.harmed=7>'), tool);
    assert.ok(tool.includes('label: </script><script>window.harmed=8</script>'), tool);
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    const made = await page.$$eval('main *, aside *', (all) => [...new Set(all.map((made) => made.localName))].sort());
    const ours = ['a', 'article', 'bdi', 'button', 'code', 'dd', 'details', 'div', 'dl', 'dt', 'h1', 'h2', 'header', 'kbd', 'nav',
      'noscript', 'p', 'pre', 'span', 'strong', 'summary', 'time'];
    assert.deepEqual(made.filter((name) => !ours.includes(name)), []);
    assert.equal(await page.evaluate(() => document.styleSheets.length), 1);
  },

  async 'long outputs are folded away and open on demand'() {
    const details = page.locator('article details.output').first();
    assert.equal(await details.evaluate((element) => element.open), false);
    await details.locator('summary').click();
    assert.ok((await details.locator('pre').textContent()).includes('running 12 tests'));
  },

  async 'pictures are shown on demand, and none that could be a document'() {
    const article = page.locator(`#entry-${numberOf.get(expected.pictures)}`);
    assert.equal(await article.locator('img').count(), 0);
    assert.equal(await article.locator('details').count(), 1);
    await article.locator('summary').click();
    await page.waitForFunction((index) => document.querySelector(`#entry-${index} img`)?.naturalWidth === 1,
      numberOf.get(expected.pictures));
  },

  async 'the policy of the page allows no other script'() {
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.injected = 1';
      document.body.append(script);
      return window.injected === 1;
    });
    assert.equal(ran, false);
    const refused = seen.errors.splice(0);
    assert.equal(refused.length, 1);
    assert.match(refused[0], /Content Security Policy/);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
  } catch (error) {
    failed += 1;
    console.error(`${name}: ${error.stack}`);
  }
}
try {
  assert.deepEqual(seen.errors, []);
  const elsewhere = seen.requests.filter((address) => !address.startsWith('data:image/png;'));
  assert.deepEqual([...new Set(elsewhere)], [pathToFileURL(file).href]);
} catch (error) {
  failed += 1;
  console.error(`errors and requests: ${error.message}`);
}
await close();
process.exit(failed === 0 ? 0 : 1);
