// cgroup-names: names of cgroups in the forms of both drivers.
import { type CgroupDriver, cgroupPath, composeCgroupName, parseCgroupPath, systemdUnits } from '../../../src/domain/cgroups/cgroup-name.js';
import { nodeAllocatableCgroup, podCgroupName, podUidOfCgroupPath } from '../../../src/domain/cgroups/pod-cgroup-name.js';
import type { QosClass } from '../../../src/domain/qos/qos-class.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly op: 'toPath' | 'parse' | 'compose' | 'podCgroup' | 'isPodCgroup' | 'nodeAllocatableRoot';
  readonly components: readonly string[];
  readonly driver: CgroupDriver;
  readonly path: string;
  readonly base: readonly string[];
  readonly add: readonly string[];
  readonly cgroupRoot: string;
  readonly podUid: string;
  readonly qosClass: QosClass;
  readonly cgroupsPerQos: boolean;
}

const operations: Readonly<Record<Input['op'], (input: Input) => unknown>> = {
  toPath({ components }) {
    const units = systemdUnits(components);
    return {
      cgroupfs: cgroupPath('cgroupfs', components),
      systemd: cgroupPath('systemd', components),
      ...(units === null ? {} : { systemdUnit: units.unit, systemdParentUnit: units.parent }),
    };
  },
  parse: ({ driver, path }) => ({ components: parseCgroupPath(driver, path) }),
  compose({ base, add }) {
    const composed = composeCgroupName(base, ...add);
    return composed.ok ? { components: composed.name } : { error: composed.message };
  },
  podCgroup({ driver, cgroupRoot, podUid, qosClass }) {
    const components = podCgroupName(cgroupRoot, qosClass, podUid);
    return { components, path: cgroupPath(driver, components) };
  },
  isPodCgroup({ driver, cgroupRoot, path }) {
    const podUid = podUidOfCgroupPath(driver, cgroupRoot, path);
    return podUid === null ? { isPod: false } : { isPod: true, podUid };
  },
  nodeAllocatableRoot: ({ driver, cgroupRoot, cgroupsPerQos }) => ({ path: cgroupPath(driver, nodeAllocatableCgroup(cgroupRoot, cgroupsPerQos)) }),
};

export const driver: VectorDriver = {
  run: (input: Input) => operations[input.op](input),
};
