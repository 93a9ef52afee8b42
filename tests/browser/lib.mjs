// A browser with nothing of the user's, and a page whose errors and requests are noted.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

// The sandbox needs rights that a container does not give, and nothing is opened here but pages of our own.
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export async function open(address, options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'leaflog-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.LEAFLOG_BROWSER ?? '/usr/bin/chromium',
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = context.pages()[0] ?? await context.newPage();
  const seen = { errors: [], requests: [] };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('request', (request) => seen.requests.push(request.url().split('#')[0]));
  await page.goto(address);
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, seen, close };
}
