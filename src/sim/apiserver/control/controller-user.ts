// As whom the controllers of the simulated control plane write.
import type { ApiUser } from '../api-request.js';

export const controllerUser: ApiUser = { name: 'system:kube-controller-manager', groups: ['system:masters', 'system:authenticated'] };
