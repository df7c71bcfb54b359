// `kubelet-ctl dev`: a runtime, a kubelet and a view of its pods in one process, until Ctrl-C.
//
// | ends by                              | exit code | remains                                             |
// |--------------------------------------|-----------|-----------------------------------------------------|
// | the first SIGINT, SIGTERM or SIGHUP, | 0         | nothing                                             |
// | or the reader of its output is gone  |           |                                                     |
// | a second one                         | 1         | unfinished cleanup on a real runtime                |
// | a refusal, or the agent's failure    | 1         | nothing                                             |

import { relative } from 'node:path';
import type { MockApiserver } from '../../adapters/mock-apiserver/index.js';
import type { MockCriServer } from '../../adapters/mock-cri/index.js';
import { openNativeLinux } from '../../adapters/native-linux/index.js';
import { WallAnchoredClock } from '../../adapters/time/index.js';
import { podRows } from '../../domain/live-page/pod-rows.js';
import type { KernelLog } from '../../ports/outbound/kernel-log.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { logProcessWarnings } from '../cli/process-warnings.js';
import { whenReaderIsGone } from '../cli/standard-output.js';
import { type Daemon, startDaemon } from '../daemon/start-daemon.js';
import { removeCgroups, removePods } from './dev-cleanup.js';
import { DevLog } from './dev-log.js';
import { type DevOptions, devUsage, parseDevOptions } from './dev-options.js';
import { DevStage } from './dev-stage.js';
import { type PodView, podView, type ViewOutput } from './pod-view.js';

const noKernelLog: KernelLog = { follow: () => {}, close: () => {} };
const lookEveryMillis = 200;
const quickStopMillis = 2_800;

export async function runDev(words: readonly string[], output: ViewOutput, error: ViewOutput): Promise<number> {
  const parsed = parseDevOptions(words);
  if (parsed.kind === 'help') {
    output.write(devUsage);
    return 0;
  }
  if (parsed.kind === 'error') {
    error.write(`kubelet-ctl dev: ${parsed.message}\n\n${devUsage}`);
    return 2;
  }
  try {
    return await new Demonstration(parsed.options, output).run();
  } catch (refusal) {
    if (!(refusal instanceof StartRefusal)) throw refusal;
    error.write(`kubelet-ctl dev: ${refusal.message}\n`);
    return 1;
  }
}

class Demonstration {
  private readonly view: PodView;
  private readonly clock = new WallAnchoredClock(() => {});
  private readonly stage: DevStage;
  private readonly interrupted: Promise<'interrupted'>;
  private mock: MockCriServer | null = null;
  private apiserver: MockApiserver | null = null;

  constructor(
    private readonly options: DevOptions,
    private readonly output: ViewOutput,
  ) {
    this.stage = new DevStage(options);
    this.view = podView(output);
    this.interrupted = this.listenForSignals();
  }

  async run(): Promise<number> {
    let code = 1;
    try {
      this.mock = await this.stage.startRuntime();
      this.apiserver = await this.stage.startApiserver();
      const daemon = await this.start();
      code = await this.play(daemon);
    } finally {
      this.view.end();
      await this.apiserver?.stop();
      await this.mock?.stop();
      if (!this.removeStage()) code = 1;
    }
    return code;
  }

  /** False: something remains, and was reported. */
  private removeStage(): boolean {
    const left = this.stage.remove();
    if (left !== null) this.output.write(`Left behind: ${left}\n`);
    return left === null;
  }

  private start(): Promise<Daemon> {
    const loaded = this.stage.configuration(this.mock?.endpoint ?? this.options.runtime ?? '');
    const opened = openNativeLinux({ kernelLogPath: '/dev/kmsg', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
    // The containers of a mock runtime are not in the kernel's log, which not every user may read.
    const native = this.mock === null ? opened : { ...opened, openKernelLog: () => noKernelLog };
    const logger = DevLog.create((line) => this.view.note(line), this.options.verbose, this.clock);
    logProcessWarnings(() => logger);
    return startDaemon({ loaded, profile: this.stage.profile(this.mock), logger, setVerbosity: () => {}, logFailure: () => null, clock: this.clock, native, environment: {} });
  }

  private async play(daemon: Daemon): Promise<number> {
    const runtime = this.mock === null ? this.options.runtime : 'a mock container runtime (nothing really runs)';
    this.output.write(`A kubelet runs the pods of ${this.stage.manifests}\non ${runtime}. Edit, add or remove manifests there; Ctrl-C ends it.\n`);
    if (this.apiserver !== null) this.output.write(`For kubectl: export KUBECONFIG=${this.stage.kubeconfig}\n`);
    if (daemon.page !== null) this.output.write(`To look at it in a browser: ${daemon.page.url}\n`);
    if (daemon.address !== null) {
      const agent = `--agent http://${daemon.address}`;
      this.output.write(`For another terminal: ${programText()} ps -w ${agent}\n`);
      this.output.write(`or, for what a pod's container has written, ${programText()} logs -f POD ${agent} --links ${this.stage.linksDirectory}\n\n`);
    }
    const look = (): void => this.view.show(podRows(daemon.queries.pods().items ?? [], this.clock.wall()));
    const timer = setInterval(look, lookEveryMillis);
    const end = await Promise.race([daemon.ended, this.interrupted]);
    const isFailed = end !== 'interrupted';
    if (this.options.runtime === null || isFailed) {
      clearInterval(timer);
      this.view.end();
      setTimeout(() => this.leave(isFailed ? 1 : 0), quickStopMillis).unref();
      await daemon.stop();
      if (isFailed) this.output.write('The agent failed; the last lines above say why.\n');
      return isFailed ? 1 : 0;
    }
    return this.cleanUp(daemon, timer);
  }

  /** Restores a real runtime to its initial state. */
  private async cleanUp(daemon: Daemon, timer: NodeJS.Timeout): Promise<number> {
    this.view.note('Stopping and removing the pods, up to 15 s; Ctrl-C again leaves them.');
    const left: string[] = [];
    try {
      left.push(...(await removePods(daemon)));
    } catch (error) {
      left.push(`the runtime does not answer: ${error instanceof Error ? error.message : String(error)}`);
    }
    clearInterval(timer);
    this.view.end();
    if (this.options.cgroups) await removeCgroups(daemon, this.stage.cgroupRoot).catch((error: unknown) => left.push(`cgroup ${this.stage.cgroupRoot}: ${String(error)}`));
    await daemon.stop();
    this.output.write(left.length === 0 ? 'Everything is removed.\n' : `Left behind: ${left.join(', ')}\n`);
    return left.length === 0 ? 0 : 1;
  }

  private listenForSignals(): Promise<'interrupted'> {
    return new Promise((resolve) => {
      let came = false;
      const signal = (): void => {
        if (came) this.leave(1);
        came = true;
        resolve('interrupted');
      };
      process.on('SIGINT', signal);
      process.on('SIGTERM', signal);
      // A closed terminal ends it as Ctrl-C does: a real runtime must not keep its pods.
      process.on('SIGHUP', () => resolve('interrupted'));
      whenReaderIsGone(() => resolve('interrupted'));
      process.on('uncaughtException', (error) => {
        this.view.end();
        process.stderr.write(`kubelet-ctl dev: ${error.stack ?? error.message}\n`);
        this.leave(1);
      });
    });
  }

  /** Immediate: removes only what needs no wait. */
  private leave(code: number): never {
    const isClean = this.removeStage();
    process.exit(isClean ? code : 1);
  }
}

/** How this program was started, as one would type it. */
function programText(): string {
  const [, program = 'kubelet-ctl'] = process.argv;
  return /\.m?js$/.test(program) ? `node ${relative(process.cwd(), program)}` : 'kubelet-ctl';
}
