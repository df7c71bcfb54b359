// kubectl as a test's client, independent of this project.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

const program = '/usr/bin/kubectl';

/** Why tests with kubectl are skipped; false: they run. */
export function skipWithoutKubectl(): string | false {
  return existsSync(program) ? false : `there is no ${program}`;
}

export interface Said {
  readonly code: number | null;
  /** What it wrote, errors included. */
  readonly text: string;
}

/** Runs it beside this process, which may be the server that it talks to. */
export function kubectl(kubeconfig: string, words: readonly string[], input = ''): Promise<Said> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['--kubeconfig', kubeconfig, ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, text: Buffer.concat(chunks).toString('utf8') }));
    child.stdin.end(input);
  });
}
