// etc-hosts: what a pod is called, and its hosts file.
import { hostsFileText, podGetsHostsFile } from '../../../src/domain/containers/hosts-file.js';
import { kernelHostname, podHostname } from '../../../src/domain/containers/pod-hostname.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly pod: Pod;
  readonly podIPs?: readonly string[];
  readonly clusterDomain: string;
  readonly nodeHostsFile: string;
}

export const driver: VectorDriver = {
  run({ pod, podIPs = [], clusterDomain, nodeHostsFile }: Input) {
    const name = podHostname(pod, clusterDomain);
    if (!name.ok) return { error: name.message };
    const kernel = kernelHostname(pod, name.value);
    const mounted = podGetsHostsFile(pod, podIPs);
    return {
      ...name.value,
      ...(kernel.ok ? { kernelHostname: kernel.value } : { kernelHostnameError: kernel.message }),
      hostsFileMounted: mounted,
      ...(mounted ? { hostsFile: hostsFileText(pod, podIPs, name.value, nodeHostsFile) } : {}),
    };
  },
};
