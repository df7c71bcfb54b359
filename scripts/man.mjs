// Writes docs/kubelet.8 from the compiled table of settings; `--check` fails when the file is not what would be written.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { manualPage } from '../dist/src/app/cli/manual-page.js';

const file = fileURLToPath(new URL('../docs/kubelet.8', import.meta.url));
if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== manualPage()) {
    console.error('man: docs/kubelet.8 is not up to date; run: node scripts/man.mjs');
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, manualPage());
}
