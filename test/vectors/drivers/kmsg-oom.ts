// Records of the kernel's log, and the OOM kills in a stream of them.

import { type OomKill, type OomParserState, readOomLine, systemOomMessage, systemOomReason } from '../../../src/domain/oom/oom-parser.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { parseKmsgRecord } from '../../../src/domain/values/kmsg-record.js';
import { formatRfc3339Micros, parseRfc3339 } from '../../../src/domain/values/time.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Input = { readonly op: 'record'; readonly record: string } | { readonly op: 'stream'; readonly bootTime: string; readonly records: readonly string[] };

function shown(kill: OomKill, bootTime: number): Json {
  const message = systemOomMessage(kill);
  return {
    container: kill.taskCgroup,
    victimContainer: kill.limitCgroup,
    process: kill.processName,
    pid: kill.pid,
    constraint: kill.constraint,
    time: formatRfc3339Micros(instantOf(bootTime + kill.sinceBootMicros)).replace(/\.?0*Z$/, 'Z'),
    ...(message === null ? {} : { nodeEvent: `Warning ${systemOomReason} ${message}` }),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.op === 'record') {
      const parsed = parseKmsgRecord(input.record);
      if (!parsed.ok) return { error: parsed.error };
      const { priority, sequence, microsSinceBoot, message } = parsed.value;
      return { priority, sequence, microsSinceBoot: String(microsSinceBoot), message };
    }
    const bootTime = epochMicros(parseRfc3339(input.bootTime) ?? instantOf(Number.NaN));
    const events: Json[] = [];
    let state: OomParserState = null;
    for (const raw of input.records) {
      const record = parseKmsgRecord(raw);
      if (!record.ok) continue;
      const step = readOomLine(state, record.value.message, Number(record.value.microsSinceBoot));
      state = step.state;
      if (step.kill !== null) events.push(shown(step.kill, bootTime));
    }
    return { events };
  },
  /** Of a refusal only that there is one: these are the texts of the reference's parser. */
  compare(got: unknown, want: Json): Difference[] {
    const parserTexts = /^(invalid kmsg|could not parse)/;
    if (isObject(got) && isObject(want) && typeof got.error === 'string' && typeof want.error === 'string' && parserTexts.test(want.error)) return [];
    return differences(got, want);
  },
};
