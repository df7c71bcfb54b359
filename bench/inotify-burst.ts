// 100 000 files made at once in a watched directory: every one is reported, or `lost` is, and then a listing finds them all.
// The same burst on fs.watch beside it, which drops events silently. One JSON line; exit code 1 if an event was dropped silently.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addonNativeLinux, serviceEnvironmentOf } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';
import type { FileWatchEvent } from '../src/ports/outbound/file-watch.js';

const entries = 100_000;
/** After this long without an event since the writer's end, no more are expected. */
const quietMs = 500;

interface Outcome {
  reported: number;
  lost: boolean;
  listed: number;
  ms: number;
}

/** Made by another process, so that the reader can run meanwhile; or with `held` by this one, so that it can't. */
async function burst(directory: string, held: boolean): Promise<void> {
  const script = `const fs = require('node:fs'); for (let i = 0; i < ${entries}; i++) fs.closeSync(fs.openSync(process.argv[1] + '/e' + i, 'w'));`;
  if (held) {
    const { closeSync, openSync } = await import('node:fs');
    for (let index = 0; index < entries; index++) closeSync(openSync(join(directory, `e${index}`), 'w'));
    return;
  }
  await once(spawn(process.execPath, ['-e', script, directory], { stdio: 'inherit' }), 'exit');
}

async function measure(held: boolean, open: (directory: string, seen: (name: string) => void, lost: () => void) => Promise<() => unknown>): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-burst-'));
  const names = new Set<string>();
  let lost = false;
  let last = Date.now();
  const close = await open(
    directory,
    (name) => {
      names.add(name);
      last = Date.now();
    },
    () => {
      lost = true;
      last = Date.now();
    },
  );
  const start = Date.now();
  await burst(directory, held);
  last = Math.max(last, Date.now());
  while (Date.now() - last < quietMs) await new Promise((resolve) => setTimeout(resolve, 20));
  await close();
  const listed = readdirSync(directory).length;
  rmSync(directory, { recursive: true });
  return { reported: names.size, lost, listed, ms: last - start };
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const native = addonNativeLinux(loaded.binding, { kernelLogPath: '/dev/kmsg', service: serviceEnvironmentOf({}) });

const withAddon = async (directory: string, seen: (name: string) => void, lost: () => void) => {
  const fileWatch = native.openFileWatch((events: readonly FileWatchEvent[]) => {
    for (const event of events) {
      if (event.kind === 'entry' && event.change === 'created') seen(event.name);
      else if (event.kind === 'lost') lost();
    }
  });
  fileWatch.add(directory, 'changes');
  return () => fileWatch.close();
};
const withFsWatch = async (directory: string, seen: (name: string) => void) => {
  const watcher = watch(directory, (_, name) => seen(name ?? ''));
  return () => watcher.close();
};

const outcomes = {
  addonHeld: await measure(true, withAddon),
  addonFree: await measure(false, withAddon),
  fsWatchHeld: await measure(true, withFsWatch),
};
const sound = (outcome: Outcome): boolean => (outcome.reported === entries || outcome.lost) && outcome.listed === entries;
const ok = sound(outcomes.addonHeld) && sound(outcomes.addonFree);
console.log(JSON.stringify({ benchmark: 'inotify-burst', entries, ...outcomes, fsWatchDroppedSilently: entries - outcomes.fsWatchHeld.reported, ok }));
process.exitCode = ok ? 0 : 1;
