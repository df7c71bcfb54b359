// The contract of the DRA driver port.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { DraPluginOperations } from '../../src/ports/outbound/dra-plugin.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';

export interface DraDriverUnderTest {
  readonly plugin: PortOf<DraPluginOperations>;
  /** Where the driver of this name is called, while it runs. */
  endpoint(name: string): string;
  start(name: string): Promise<void>;
  stop(name: string): Promise<void>;
  /** Uids of the claims that it has prepared. */
  prepared(name: string): readonly string[];
}

const claim = (uid: string) => ({ namespace: 'default', name: `claim-${uid}`, uid });

export async function draPluginContract(t: Test, { plugin, endpoint, start, stop, prepared }: DraDriverUnderTest): Promise<void> {
  const name = 'gpu.example.com';
  await start(name);
  const at = endpoint(name);
  const { claims } = await plugin.prepare({ endpoint: at, claims: [claim('u1'), claim('u2')] }, quietCall);
  t.strictSame([...claims.keys()].sort(), ['u1', 'u2']);
  const device = { requestNames: [], poolName: 'pool', deviceName: 'claim-u1', cdiDeviceIds: [`${name}/device=u1`], shareId: null };
  t.strictSame(claims.get('u1'), { devices: [device], error: '' });
  t.strictSame(await plugin.prepare({ endpoint: at, claims: [claim('u1')] }, quietCall), { claims: new Map([['u1', { devices: [device], error: '' }]]) }, 'again, the same');
  t.strictSame([...prepared(name)].sort(), ['u1', 'u2']);
  for (let i = 0; i < 2; i++) t.strictSame(await plugin.unprepare({ endpoint: at, claims: [claim('u1')] }, quietCall), { claims: new Map([['u1', '']]) }, 'what is gone is gone');
  t.strictSame(prepared(name), ['u2']);
  await stop(name);
  t.equal(await kindOf(() => plugin.prepare({ endpoint: at, claims: [claim('u1')] }, quietCall)), 'unavailable');
  t.equal(await kindOf(() => plugin.unprepare({ endpoint: at, claims: [claim('u1')] }, quietCall)), 'unavailable');
}
