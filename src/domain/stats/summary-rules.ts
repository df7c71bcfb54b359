// The rules by which a snapshot of the node becomes the stats summary and the resource metrics, for the adapter that takes the snapshots.

import { nodeResources } from './snapshot-resources.js';
import { cpuAndMemoryOnly, fullSummary } from './snapshot-summary.js';

export const summaryRules = { full: fullSummary, cpuAndMemoryOnly, resources: nodeResources } as const;
