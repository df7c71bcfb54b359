// The user of the simulated control plane's controllers.
import type { ApiUser } from '../api-request.js';

export const controllerUser: ApiUser = { name: 'system:kube-controller-manager', groups: ['system:masters', 'system:authenticated'] };
