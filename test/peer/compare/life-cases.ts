// Pods of the comparison: how containers end, init containers and sidecars, probes and hooks.
import { ending, hasEnded, hasRestarted, isPending, looking, type PodCase, podCase, runs, runsUnready, waitsFor } from './pod-case.js';

const never = { restartPolicy: 'Never' };
const exec = (...command: string[]) => ({ exec: { command } });

const ends: readonly PodCase[] = [
  podCase('end-zero', { ...never, containers: [ending('echo done')] }, hasEnded),
  podCase('end-three', { ...never, containers: [ending('exit 3'), ending('true', { name: 'well' })] }, hasEnded),
  podCase(
    'end-on-failure',
    {
      restartPolicy: 'OnFailure',
      containers: [ending('test -e /d/x || { touch /d/x; exit 1; }', { volumeMounts: [{ name: 'd', mountPath: '/d' }] })],
      volumes: [{ name: 'd', emptyDir: {} }],
    },
    hasEnded,
  ),
  podCase('end-signal', { ...never, containers: [ending('kill -9 $$')] }, hasEnded),
  podCase('end-oom', { ...never, containers: [ending('exec tail /dev/zero', { resources: { limits: { memory: '16Mi' } } })] }, hasEnded),
  podCase('end-message', { ...never, containers: [ending('echo why > /dev/termination-log; exit 1')] }, hasEnded),
  podCase('end-message-elsewhere', { ...never, containers: [ending('echo why > /tmp/why; exit 1', { terminationMessagePath: '/tmp/why' })] }, hasEnded),
  podCase(
    'end-message-log',
    { ...never, containers: [ending('for i in $(seq 200); do echo line $i of the log; done; exit 1', { terminationMessagePolicy: 'FallbackToLogsOnError' })] },
    hasEnded,
  ),
  podCase('end-message-long', { ...never, containers: [ending('head -c 9000 /dev/zero | tr "\\0" m > /dev/termination-log; exit 1')] }, hasEnded),
  podCase('end-crash-loop', { containers: [ending('exit 1')] }, waitsFor('CrashLoopBackOff', 2)),
  podCase('end-deadline', { activeDeadlineSeconds: 20, containers: [looking()] }, hasEnded),
  podCase('end-no-command', { ...never, containers: [{ name: 'main', image: 'docker.io/library/busybox:latest', imagePullPolicy: 'IfNotPresent', command: ['/none'] }] }, hasEnded),
  podCase('end-no-directory', { ...never, containers: [ending('true', { command: ['/tmp'] })] }, hasEnded),
  podCase('image-invalid', { containers: [ending('true', { image: 'UPPER//case' })] }, waitsFor('InvalidImageName')),
  podCase('image-never', { containers: [ending('true', { image: 'absent.invalid/none:1', imagePullPolicy: 'Never' })] }, waitsFor('ErrImageNeverPull')),
  podCase('image-absent', { containers: [ending('true', { image: 'absent.invalid/none:1' })] }, waitsFor('ImagePullBackOff')),
];

const inits: readonly PodCase[] = [
  podCase('init-two', { initContainers: [ending('echo one', { name: 'one' }), ending('echo two', { name: 'two' })], containers: [looking()] }, runs),
  podCase('init-fails', { ...never, initContainers: [ending('exit 5', { name: 'one' })], containers: [looking()] }, hasEnded),
  podCase('init-crashes', { initContainers: [ending('exit 5', { name: 'one' })], containers: [looking()] }, waitsFor('CrashLoopBackOff', 2)),
  podCase('init-waits', { initContainers: [looking({ name: 'one' })], containers: [looking()] }, (pod) => pod.status.initContainerStatuses?.[0]?.state.running !== undefined),
  podCase(
    'sidecar',
    {
      initContainers: [looking({ name: 'side', restartPolicy: 'Always', startupProbe: { ...exec('true'), periodSeconds: 1 } }), ending('true', { name: 'one' })],
      containers: [looking()],
    },
    runs,
  ),
  podCase('sidecar-ends', { ...never, initContainers: [looking({ name: 'side', restartPolicy: 'Always' })], containers: [ending('sleep 1')] }, hasEnded),
  podCase('sidecar-crashes', { initContainers: [ending('sleep 1; exit 1', { name: 'side', restartPolicy: 'Always' })], containers: [looking()] }, waitsFor('CrashLoopBackOff', 2)),
  podCase(
    'sidecar-not-started',
    { initContainers: [looking({ name: 'side', restartPolicy: 'Always', startupProbe: { ...exec('false'), periodSeconds: 1, failureThreshold: 1000 } })], containers: [looking()] },
    isPending,
  ),
  podCase(
    'restart-rules',
    {
      ...never,
      containers: [
        ending('test -e /d/x || { touch /d/x; exit 42; }', {
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          restartPolicy: 'Never',
          volumeMounts: [{ name: 'd', mountPath: '/d' }],
        }),
      ],
      volumes: [{ name: 'd', emptyDir: {} }],
    },
    hasEnded,
  ),
];

const slowly = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20 };

const probes: readonly PodCase[] = [
  podCase('probe-unready', { containers: [looking({ readinessProbe: { ...exec('sh', '-c', 'echo not yet; exit 3'), ...slowly } })] }, runsUnready),
  podCase('probe-no-command', { containers: [looking({ readinessProbe: { ...exec('/none'), ...slowly } })] }, runsUnready),
  podCase(
    'probe-ready',
    { containers: [looking({ readinessProbe: { ...exec('true'), ...slowly }, livenessProbe: { ...exec('true'), ...slowly }, startupProbe: { ...exec('true'), ...slowly } })] },
    runs,
  ),
  podCase(
    'probe-dead',
    {
      containers: [
        looking({
          livenessProbe: { ...exec('sh', '-c', 'test ! -e /d/first || { rm /d/first; exit 1; }'), initialDelaySeconds: 2, ...slowly },
          lifecycle: { postStart: exec('sh', '-c', 'test -e /d/x || touch /d/x /d/first') },
          volumeMounts: [{ name: 'd', mountPath: '/d' }],
        }),
      ],
      volumes: [{ name: 'd', emptyDir: {} }],
    },
    hasRestarted(1),
  ),
  podCase('probe-not-started', { ...never, containers: [looking({ startupProbe: { ...exec('false'), ...slowly, failureThreshold: 2 } })] }, hasEnded),
  podCase(
    'probe-http-404',
    {
      containers: [
        looking(
          { readinessProbe: { httpGet: { path: '/none', port: 8080, httpHeaders: [{ name: 'X-One', value: 'two' }] }, ...slowly } },
          'mkdir /tmp/www; httpd -p 8080 -h /tmp/www',
        ),
      ],
    },
    runsUnready,
  ),
  podCase(
    'probe-http',
    {
      containers: [
        looking(
          { ports: [{ name: 'web', containerPort: 8080 }], readinessProbe: { httpGet: { path: '/', port: 'web' }, ...slowly } },
          'mkdir /tmp/www; echo well > /tmp/www/index.html; httpd -p 8080 -h /tmp/www',
        ),
      ],
    },
    runs,
  ),
  podCase('probe-tcp-refused', { containers: [looking({ readinessProbe: { tcpSocket: { port: 9 }, ...slowly } })] }, runsUnready),
  podCase('probe-grpc-refused', { containers: [looking({ readinessProbe: { grpc: { port: 9 }, ...slowly } })] }, runsUnready),
  podCase('probe-late', { containers: [looking({ readinessProbe: { ...exec('sleep', '100'), periodSeconds: 1, timeoutSeconds: 1 } })] }, runsUnready),
  podCase(
    'readiness-gate',
    { readinessGates: [{ conditionType: 'example.com/gate' }], containers: [looking()] },
    (pod) => pod.status.phase === 'Running' && pod.status.containerStatuses[0].ready,
  ),
];

const hooks: readonly PodCase[] = [
  podCase('hook-start', { containers: [looking({ lifecycle: { postStart: exec('true'), preStop: exec('sleep', '0.5') } })] }, runs),
  podCase('hook-start-fails', { ...never, containers: [looking({ lifecycle: { postStart: exec('sh', '-c', 'echo no >&2; exit 4') } })] }, hasEnded),
  podCase('hook-start-http', { ...never, containers: [looking({ lifecycle: { postStart: { httpGet: { port: 9, path: '/x' } } } })] }, hasEnded),
  podCase('hook-sleep', { containers: [looking({ lifecycle: { postStart: { sleep: { seconds: 1 } } } })] }, runs),
];

export const lifeCases: readonly PodCase[] = [...ends, ...inits, ...probes, ...hooks];
