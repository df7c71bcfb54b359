// How containers of the contract suite of container runtimes behave, for simulated and for real ones.
/** How a container of the suite behaves; the runtime under test makes it so by a script or by a command. */
export interface Behaviour {
  readonly name: 'runs' | 'ignores-term' | 'fails' | 'commands-fail' | 'commands-last';
  /** For simulated runtimes. */
  readonly script: string;
  /** For real ones. */
  readonly command: readonly string[];
}

export const behaviours: Readonly<Record<Behaviour['name'], Behaviour>> = {
  runs: { name: 'runs', script: 'run=forever', command: ['sh', '-c', 'trap "exit 143" TERM; while :; do sleep 0.05; done'] },
  'ignores-term': { name: 'ignores-term', script: 'ignore-term', command: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] },
  'commands-fail': { name: 'commands-fail', script: 'exec-exit=3', command: ['sh', '-c', 'trap "exit 143" TERM; while :; do sleep 0.05; done'] },
  'commands-last': { name: 'commands-last', script: 'exec=30s', command: ['sh', '-c', 'trap "exit 143" TERM; while :; do sleep 0.05; done'] },
  fails: { name: 'fails', script: 'run=50ms,exit=3', command: ['sh', '-c', 'exit 3'] },
};
