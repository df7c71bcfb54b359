// The fullest objects of resource.k8s.io: claims and templates of them, slices, classes.
import { condition, type FullObjects, type Json, metadata, nodeSelector, time } from './full-objects.js';

const opaque = { driver: 'd.example.com', parameters: { kind: 'P', apiVersion: 'd.example.com/v1', any: [1] } };
const selectors = [{ cel: { expression: 'true' } }];
const tolerations = [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute', tolerationSeconds: 5 }];
const capacity = { requests: { memory: '1Gi' } };
const wanted = { deviceClassName: 'full', selectors, allocationMode: 'ExactCount', count: 1, tolerations, capacity };

const claimSpec: Json = {
  devices: {
    requests: [
      { name: 'a', exactly: { ...wanted, adminAccess: true } },
      { name: 'b', firstAvailable: [{ name: 'c', ...wanted }] },
    ],
    constraints: [
      { requests: ['a'], matchAttribute: 'd.example.com/numa' },
      { requests: ['a'], distinctAttribute: 'd.example.com/slot' },
    ],
    config: [{ requests: ['a'], opaque }],
  },
};

const result = {
  request: 'a',
  driver: 'd.example.com',
  pool: 'p',
  device: 'x',
  adminAccess: true,
  tolerations,
  bindingConditions: ['A'],
  bindingFailureConditions: ['B'],
  shareID: '00000000-0000-4000-8000-000000000000',
  consumedCapacity: { memory: '1Gi' },
};

const device: Json = {
  name: 'x',
  attributes: {
    a: { int: 1 },
    b: { bool: true },
    c: { string: 's' },
    d: { version: '1.0.0' },
    e: { ints: [1] },
    f: { bools: [true] },
    g: { strings: ['s'] },
    h: { versions: ['1.0.0'] },
  },
  capacity: {
    memory: { value: '4Gi', requestPolicy: { default: '1Gi', validValues: ['1Gi'] } },
    more: { value: '4Gi', requestPolicy: { default: '1Gi', validRange: { min: '1Gi', max: '2Gi', step: '1Gi' } } },
  },
  consumesCounters: [{ counterSet: 's', counters: { c: { value: '1' } } }],
  taints: [{ key: 'k', value: 'v', effect: 'NoSchedule', timeAdded: time }],
  bindsToNode: true,
  bindingConditions: ['A'],
  bindingFailureConditions: ['B'],
  allowMultipleAllocations: true,
  nodeAllocatableResourceMappings: { memory: { capacityKey: 'memory', allocationMultiplier: '2' } },
};

const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };

export const fullDeviceObjects: readonly FullObjects[] = [
  {
    plural: 'resourceclaims',
    namespaced: true,
    objects: [
      {
        metadata: metadata('full'),
        spec: claimSpec,
        status: {
          allocation: { devices: { results: [result], config: [{ source: 'FromClass', requests: ['a'], opaque }] }, nodeSelector, allocationTimestamp: time },
          reservedFor: [{ apiGroup: 'example.com', resource: 'pods', name: 'p', uid: 'u' }],
          devices: [
            {
              driver: 'd.example.com',
              pool: 'p',
              device: 'x',
              shareID: result.shareID,
              conditions: [{ ...condition, observedGeneration: 1 }],
              data: { any: 1 },
              networkData: { interfaceName: 'e', ips: ['192.0.2.1/24'], hardwareAddress: '00:00:5e:00:53:01' },
            },
          ],
        },
      },
    ],
  },
  { plural: 'resourceclaimtemplates', namespaced: true, objects: [{ metadata: metadata('full'), spec: { metadata: { labels: { a: 'b' } }, spec: claimSpec } }] },
  {
    plural: 'resourceslices',
    namespaced: false,
    objects: [
      { metadata: metadata('full'), spec: { driver: 'd.example.com', pool, nodeName: 'n', devices: [device], sharedCounters: [{ name: 's', counters: { c: { value: '1' } } }] } },
      { metadata: metadata('chosen'), spec: { driver: 'd.example.com', pool, nodeSelector } },
      { metadata: metadata('all'), spec: { driver: 'd.example.com', pool, allNodes: true } },
      {
        metadata: metadata('each'),
        spec: {
          driver: 'd.example.com',
          pool,
          perDeviceNodeSelection: true,
          devices: [
            { name: 'x', nodeName: 'n' },
            { name: 'y', nodeSelector },
            { name: 'z', allNodes: true },
          ],
        },
      },
    ],
  },
  { plural: 'deviceclasses', namespaced: false, objects: [{ metadata: metadata('full'), spec: { selectors, config: [{ opaque }], extendedResourceName: 'example.com/gpu' } }] },
];
