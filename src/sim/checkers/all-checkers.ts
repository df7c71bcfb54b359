// All checkers. Add a new one here, with a planted bug that trips it.

import { apiPodOutlivesContainers } from './api-pod-outlives-containers.js';
import { apiStatusGoesForward } from './api-status-goes-forward.js';
import { apiWritesOwnPods } from './api-writes-own-pods.js';
import { asideIsLeftAlone } from './aside-is-left-alone.js';
import { attemptsGoUp } from './attempts-go-up.js';
import { bookedByWhatMayRun } from './booked-by-what-may-run.js';
import { type AnyChecker, anyChecker } from './checker.js';
import { claimsOutliveContainers } from './claims-outlive-containers.js';
import { criticalPodsAreSpared } from './critical-pods-are-spared.js';
import { deadlinesComeWhenDue } from './deadlines-come-when-due.js';
import { devicesOutliveMounts } from './devices-outlive-mounts.js';
import { directoriesOutliveMounts } from './directories-outlive-mounts.js';
import { endedRunsOnce } from './ended-runs-once.js';
import { exclusiveCpusAreDisjoint } from './exclusive-cpus-are-disjoint.js';
import { graceOnlyShrinks } from './grace-only-shrinks.js';
import { leaseRenewalsArePaced } from './lease-renewals-are-paced.js';
import { namespacesAreDisjoint } from './namespaces-are-disjoint.js';
import { noCommandAfterStop } from './no-command-after-stop.js';
import { nothingIsForgotten } from './nothing-is-forgotten.js';
import { oneLiveContainer } from './one-live-container.js';
import { onePodOfAName } from './one-pod-of-a-name.js';
import { restartsWait } from './restarts-wait.js';
import { sandboxOutlivesContainers } from './sandbox-outlives-containers.js';
import { staticPodsTakeTurns } from './static-pods-take-turns.js';
import { terminalPhaseStays } from './terminal-phase-stays.js';
import { terminatedStaysDown } from './terminated-stays-down.js';
import { usedImageStays } from './used-image-stays.js';
import { volumesOutliveContainers } from './volumes-outlive-containers.js';

export const allCheckers: readonly AnyChecker[] = [
  anyChecker(oneLiveContainer),
  anyChecker(onePodOfAName),
  anyChecker(terminatedStaysDown),
  anyChecker(graceOnlyShrinks),
  anyChecker(terminalPhaseStays),
  anyChecker(usedImageStays),
  anyChecker(criticalPodsAreSpared),
  anyChecker(noCommandAfterStop),
  anyChecker(sandboxOutlivesContainers),
  anyChecker(volumesOutliveContainers),
  anyChecker(claimsOutliveContainers),
  anyChecker(directoriesOutliveMounts),
  anyChecker(devicesOutliveMounts),
  anyChecker(staticPodsTakeTurns),
  anyChecker(namespacesAreDisjoint),
  anyChecker(apiWritesOwnPods),
  anyChecker(apiStatusGoesForward),
  anyChecker(exclusiveCpusAreDisjoint),
  anyChecker(apiPodOutlivesContainers),
  anyChecker(endedRunsOnce),
  anyChecker(bookedByWhatMayRun),
  anyChecker(asideIsLeftAlone),
  anyChecker(attemptsGoUp),
  anyChecker(restartsWait),
  anyChecker(deadlinesComeWhenDue),
  anyChecker(leaseRenewalsArePaced),
  anyChecker(nothingIsForgotten),
];
