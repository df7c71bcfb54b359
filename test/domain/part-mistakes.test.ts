// What a part of the agent can't do: each mistake is an error of the compiler, which `@ts-expect-error` requires, so that this file compiles only while
// the types hold. Imports across parts are held by the tidy test (`test/tidy/ownership.ts`).
import t from 'tap';
import type { AgentContext } from '../../src/domain/agent/agent-context.js';
import type { AgentState } from '../../src/domain/agent/agent-state.js';
import type { AgentView } from '../../src/domain/agent/agent-view.js';
import type { ContextOf, Owner, SliceOwners } from '../../src/domain/agent/ownership.js';
import { type AgentPart, repliesTo } from '../../src/domain/agent/part.js';
import { agentParts } from '../../src/domain/agent/parts.js';

declare function ofHousekeeping(context: ContextOf<'housekeeping'>): void;

export function writesOfAnother({ state }: ContextOf<'pleg'>, { nodeFacts }: AgentView): void {
  state.relist.again = true;
  // @ts-expect-error a slice of another part is read-only
  state.housekeeping.dirty = true;
  // @ts-expect-error and so are its maps
  state.workers.records.delete('u');
  // @ts-expect-error a slice can't be replaced
  state.nodeFacts = nodeFacts;
}

export function withoutOwner(context: AgentContext, view: AgentView, pleg: ContextOf<'pleg'>): void {
  // @ts-expect-error the context of a step gives no write access
  ofHousekeeping(context);
  // @ts-expect-error nor does that of another owner
  ofHousekeeping(pleg);
  // @ts-expect-error nor a view
  ofHousekeeping({ state: view });
}

export const replies: AgentPart<'imageManager'> = {
  name: 'imageManager',
  machines: {
    image: {
      replies: {
        'images.status': (context, _key, { outcome }) => {
          // @ts-expect-error the reply's type is the operation's
          if (outcome.ok) context.state.images.nextId = outcome.value;
        },
        // @ts-expect-error no port has this operation
        'images.remember': () => {},
      },
    },
  },
};

export const several = repliesTo(['images.status', 'images.remove'], (_context, _key, answer) => {
  // @ts-expect-error this machine gets no answer of that operation
  if (answer.op === 'images.list') throw new Error();
});

// @ts-expect-error a slice without an owner: each of the state has one
export const owners: { [Slice in keyof AgentState | 'unowned']: Owner } = {} as SliceOwners;

t.test('each part has its own name', async (t) => {
  t.equal(new Set(agentParts.map(({ name }) => name)).size, agentParts.length);
});
