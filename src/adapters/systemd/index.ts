// The public exports of the systemd adapter: D-Bus, and the operations on systemd over it.
export { DbusConnection, DbusDisconnected, DbusRefusal, DbusTimeout } from './dbus-connection.js';
export { type DbusMessage, decodeMessage, encodeMessage } from './dbus-message.js';
export { DbusFormatError, DbusReader, type DbusValue, type DbusVariant, DbusWriter } from './dbus-values.js';
export type { InhibitorOptions } from './inhibitor-lock.js';
export { LogindNodeShutdown, type LogindOptions } from './logind-node-shutdown.js';
export { SystemBus, type SystemBusOptions, socketPaths } from './system-bus.js';
export { meetSystemd, systemBusOf } from './systemd-driver.js';
export { SystemdUnits, type SystemdUnitsOptions, UnitFailure, type UnitProperty } from './systemd-units.js';
