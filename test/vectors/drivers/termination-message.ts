// Area `termination-message`: the termination message of a container, read from files made for the case.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { terminationMessageOf } from '../../../src/adapters/cri/index.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly state: string;
  readonly exitCode: number;
  readonly reason: string;
  readonly runtimeMessage: string;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly mountContainerPath?: string;
  readonly terminationFile?: string;
  readonly terminationFileRepeat?: number;
  readonly log?: string;
  readonly logRepeat?: number;
}

export const driver: VectorDriver = {
  async run(input: Input): Promise<unknown> {
    const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-vector-'));
    try {
      const hostPath = join(directory, 'termination');
      const logPath = join(directory, 'log');
      if (input.terminationFile !== undefined) writeFileSync(hostPath, input.terminationFile.repeat(input.terminationFileRepeat ?? 1));
      const { log } = input;
      if (log !== undefined) writeFileSync(logPath, Array.from({ length: input.logRepeat ?? 1 }, (_, i) => log.replaceAll('{n}', String(i))).join(''));
      const mounts = input.mountContainerPath === undefined ? [] : [{ containerPath: input.mountContainerPath, hostPath }];
      const message = input.state === 'exited' ? await terminationMessageOf({ ...input, message: input.runtimeMessage, mounts, logPath }) : '';
      return { message: message.replaceAll(logPath, '<log path>').replaceAll(hostPath, '<file path>') };
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
};
