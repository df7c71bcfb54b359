// The live page in headless Chromium: pods and plots appear, a pod opens with its log and its life, and text
// from a container is text. With KUBELET_TS_SCREENSHOTS=DIRECTORY it takes the pictures of docs/live-page.md again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import t from 'tap';
import { until } from '../support/until.js';
import { phaseOf, Stage } from './stage.js';

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (program === undefined && process.env.REQUIRE_CHROMIUM === '1') throw new Error('REQUIRE_CHROMIUM=1, but there is no Chromium: install the package chromium');
const skip = program === undefined ? 'there is no Chromium (package chromium)' : false;

const settings = { livePage: { address: '127.0.0.1', port: 0 } };
const markup = '<img src=x onerror=document.title="owned">';

async function open(browser: Browser, url: string): Promise<{ readonly page: Page; readonly troubles: string[]; readonly elsewhere: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 960 } });
  const troubles: string[] = [];
  const elsewhere: string[] = [];
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()));
  page.on('request', (request) => !request.url().startsWith(new URL(url).origin) && elsewhere.push(request.url()));
  await page.goto(url);
  return { page, troubles, elsewhere };
}

t.test('the live page in a browser', { skip }, async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'evictionHard: {memory.available: 100Mi}\n';
  stage.manifest('web.yaml', stage.pod('web', 'busybox', 'run=forever,log=20/s'));
  stage.manifest('worker.yaml', stage.pod('worker', 'busybox', 'run=forever,log=5/s'));
  stage.manifest('crash.yaml', stage.pod('crash', 'busybox', 'run=100ms,exit=3'));
  const daemon = await stage.start(settings);
  const url = daemon.page?.url ?? '';
  await until('web runs', () => phaseOf(daemon, 'web-n1') === 'Running');
  const browser = await chromium.launch({ executablePath: program as string, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  const { page, troubles, elsewhere } = await open(browser, url);

  const row = page.locator('#pods tbody tr', { hasText: 'web-n1' });
  await row.waitFor();
  t.match(await row.textContent(), /Running1\/10/, 'phase, ready and restarts');
  t.equal(await page.locator('#node').textContent(), 'n1');
  t.equal(await page.locator('.card').count(), 4);
  t.equal(await page.locator('[data-signal="memory.available"]').count(), 2 - 1, 'an eviction signal with its threshold');
  await page.locator('#pods tbody tr', { hasText: /CrashLoopBackOff|exit code 3/ }).waitFor();
  t.equal(page.url(), daemon.page?.address, 'the key has left the address bar');

  await row.getByRole('button', { name: 'web-n1' }).click();
  const log = page.locator('#log');
  const shown = async (): Promise<number> => (await log.textContent())?.length ?? 0;
  await untilTrue('there is a log', async () => (await shown()) > 20);
  const before = await log.textContent();
  await untilTrue('the log grows while it is looked at', async () => (await log.textContent()) !== before);
  t.match(await page.locator('#life').textContent(), /queued.*sandbox attempt 0.*pull busybox:latest.*create c.*start c.*ready/s, 'its life is drawn');
  t.match(await page.locator('#cgroups').textContent(), /cores|m\d/, 'cgroups with figures');

  await page.reload();
  await row.waitFor();
  t.pass('a reload finds the key again');
  await t.resolves(picture(page, 'live-page.png', 'web-n1'));
  t.strictSame(troubles, [], 'nothing fails in it');
  t.strictSame(elsewhere, [], 'and it asks for nothing elsewhere');
});

async function untilTrue(what: string, is: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    if (await is()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not within 15 s: ${what}`);
}

async function picture(page: Page, name: string, pod: string): Promise<void> {
  const directory = process.env.KUBELET_TS_SCREENSHOTS;
  if (directory === undefined) return;
  // Plots need some samples, which are ten seconds apart.
  await page.waitForTimeout(60_000);
  await page.getByRole('button', { name: pod }).click();
  await page.waitForTimeout(3_000);
  await page.screenshot({ path: join(directory, name), fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: join(directory, name.replace('.png', '-dark.png')), fullPage: true });
}

t.test('what containers say is text', { skip }, async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('bad.yaml', stage.pod('bad', 'busybox', 'run=1s,exit=1'));
  const daemon = await stage.start(settings);
  await until('bad is there', () => phaseOf(daemon, 'bad-n1') !== undefined);
  const browser = await chromium.launch({ executablePath: program as string, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  const { page } = await open(browser, daemon.page?.url ?? '');
  // Alters the answer between the kubelet and the page, to any content.
  await page.route('**/data', async (route) => {
    const answer = await route.fetch();
    const data = await answer.json();
    for (const pod of data.pods) Object.assign(pod, { name: markup, message: markup, containers: [{ name: markup, state: markup, restarts: 1, image: markup }] });
    data.node.name = markup;
    data.cgroups = [{ path: `/${markup}`, of: markup, cpuNanoCores: 1, workingSetBytes: 1, processes: 1 }];
    data.sampledAt = 'now';
    await route.fulfill({ response: answer, json: data });
  });
  await page.reload();
  await page.locator('#pods tbody tr', { hasText: 'onerror' }).first().click();
  await page.locator('#pod-title', { hasText: 'onerror' }).waitFor();
  t.equal(await page.locator('img').count(), 0, 'no element came of it');
  t.notMatch(await page.title(), /^owned/);
  t.equal(await page.locator('#node').textContent(), markup);
});

t.test('without the key, and without the daemon', { skip }, async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const daemon = await stage.start(settings);
  const browser = await chromium.launch({ executablePath: program as string, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  const { page } = await open(browser, daemon.page?.address ?? '');
  await page.locator('#state.bad', { hasText: 'live-page-key' }).waitFor();
  t.equal(await page.locator('.card').count(), 0, 'says where the key is, and nothing of the node');
  await page.goto('about:blank');
  await page.goto(daemon.page?.url ?? '');
  await page.locator('.card').first().waitFor();
  await daemon.stop();
  await page.locator('#state.bad').waitFor();
  t.equal(await page.locator('.card').count(), 4, 'keeps what it knew when the daemon is gone, and says so');
});
