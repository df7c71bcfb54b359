// The cgroup that the kubelet itself runs in.

import { readFileSync } from 'node:fs';

/** The cgroup that this process is in, if CPU and memory agree about it and it isn't the root; else ''. */
export function ownCgroup(): string {
  try {
    const lines = readFileSync('/proc/self/cgroup', 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(':'));
    const of = (controller: string) =>
      lines
        .find(([, controllers = '']) => controllers.split(',').includes(controller))
        ?.slice(2)
        .join(':');
    const unified = lines
      .find(([number, controllers]) => number === '0' && controllers === '')
      ?.slice(2)
      .join(':');
    const [cpu, memory] = [of('cpu') ?? unified ?? '/', of('memory') ?? unified ?? '/'];
    return cpu === memory && cpu !== '/' ? cpu : '';
  } catch {
    return '';
  }
}
