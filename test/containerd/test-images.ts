// The images of containers in tests, made on this machine without a registry.
// Invariant: an archive is complete or absent; two processes that make it at once end with one of the two, equal, archives.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const busyboxImage = 'docker.io/library/busybox:1.35';
export const pauseImage = 'registry.k8s.io/pause:3.10';

/** Below dist/, so that `rm -r dist` recreates them; the number changes with a recipe. */
const cacheDirectory = fileURLToPath(new URL('../../test-images/1/', import.meta.url));
const busyboxBinary = '/bin/busybox';

interface Recipe {
  readonly image: string;
  readonly config: readonly string[];
  fill(rootfs: string): void;
}

const recipes: readonly Recipe[] = [
  { image: busyboxImage, config: ['--config.cmd', 'sh', '--config.env', 'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'], fill: fillBusybox },
  { image: pauseImage, config: ['--config.entrypoint', '/pause'], fill: fillPause },
];

/** Archives (docker-archive tar files) of all test images. */
export function testImageArchives(): string[] {
  return recipes.map((recipe) => {
    const archive = join(cacheDirectory, `${recipe.image.replace(/[/:]/g, '_')}.tar`);
    if (!existsSync(archive)) make(recipe, archive);
    return archive;
  });
}

function make(recipe: Recipe, archive: string): void {
  mkdirSync(cacheDirectory, { recursive: true });
  const work = mkdtempSync(join(cacheDirectory, 'making-'));
  try {
    const layout = join(work, 'layout');
    const bundle = join(work, 'bundle');
    run('umoci', 'init', '--layout', layout);
    run('umoci', 'new', '--image', `${layout}:made`);
    run('umoci', 'unpack', '--image', `${layout}:made`, bundle);
    recipe.fill(join(bundle, 'rootfs'));
    run('umoci', 'repack', '--image', `${layout}:made`, bundle);
    run('umoci', 'config', '--image', `${layout}:made`, ...recipe.config);
    run('skopeo', '--insecure-policy', 'copy', `oci:${layout}:made`, `docker-archive:${join(work, 'archive.tar')}:${recipe.image}`);
    renameSync(join(work, 'archive.tar'), archive);
  } finally {
    rmSync(work, { recursive: true });
  }
}

function fillBusybox(rootfs: string): void {
  for (const directory of ['bin', 'etc', 'root', 'tmp', 'var', 'home']) mkdirSync(join(rootfs, directory), { recursive: true, mode: directory === 'tmp' ? 0o1777 : 0o755 });
  copyFileSync(busyboxBinary, join(rootfs, 'bin/busybox'));
  for (const applet of run(busyboxBinary, '--list').trim().split('\n')) if (applet !== 'busybox') symlinkSync('busybox', join(rootfs, 'bin', applet));
  writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n');
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n');
}

/** Holds a sandbox's namespaces: waits for ever, reaps orphans, ends on SIGTERM and SIGINT. */
const pauseSource = `
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int signal) { _exit(0); }
static void reap(int signal) { while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  struct sigaction onEnd = {.sa_handler = end}, onChild = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  if (sigaction(SIGINT, &onEnd, 0) || sigaction(SIGTERM, &onEnd, 0) || sigaction(SIGCHLD, &onChild, 0)) return 1;
  for (;;) pause();
}
`;

function fillPause(rootfs: string): void {
  execFileSync('cc', ['-Os', '-static', '-x', 'c', '-o', join(rootfs, 'pause'), '-'], { input: pauseSource, stdio: ['pipe', 'pipe', 'pipe'] });
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
