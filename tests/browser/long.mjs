// Opens a page with a path of thousands of entries, which is filled in where it is looked at.
//
//   node long.mjs PAGE.html EXPECTED.json        (LEAFLOG_BROWSER names the browser)

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { open } from './lib.mjs';

const [, , file, wanted] = process.argv;
const { opensAt, path } = JSON.parse(readFileSync(wanted, 'utf8'));
const address = pathToFileURL(file).href;
const { page, seen, close } = await open(address);
try {
  const filled = () => page.locator('article').count();
  const isSeen = (index) => page.waitForFunction((at) => {
    const box = document.getElementById(`entry-${at}`)?.getBoundingClientRect();
    return box && box.top >= 0 && box.top < innerHeight;
  }, index);
  await isSeen(opensAt);
  assert.equal(await page.locator('article.chosen').getAttribute('id'), `entry-${opensAt}`);
  assert.ok(await filled() < path.length / 2, `${await filled()} articles at first`);
  assert.equal(await page.locator('[role=treeitem]').count(), path.length);

  const middle = Math.floor(path.length / 2);
  await page.goto(`${address}#${path[middle]}`);
  await isSeen(middle);
  assert.equal(await page.locator('article.chosen').getAttribute('id'), `entry-${middle}`);
  assert.ok(await filled() < path.length, `${await filled()} articles in the middle`);

  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await isSeen(path.length - 1);
  await page.evaluate(() => document.getElementById('conversation').scrollTo(0, 0));
  await isSeen(0);

  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const ids = await page.$$eval('article .facts a', (links) => links.map((link) => link.textContent));
  assert.deepEqual(ids, path, 'on paper everything is there, in order');
  assert.deepEqual(seen.errors, []);
} finally {
  await close();
}
