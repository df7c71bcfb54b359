// sandbox-config: what RunPodSandbox is called with.
import { runtimeConfigs } from '../../../src/domain/containers/runtime-configs.js';
import { type ConfigInput, nodeFacts, podInputs } from '../config-input.js';
import { sandboxConfigJson } from '../cri-json.js';
import type { VectorDriver } from '../driver.js';

export const driver: VectorDriver = {
  run(input: ConfigInput) {
    const made = runtimeConfigs(nodeFacts(input.node)).sandbox(input.pod, input.attempt, podInputs(input));
    return made.ok ? { config: sandboxConfigJson(made.value.config), runtimeHandler: made.value.runtimeHandler } : { error: made.message };
  },
};
