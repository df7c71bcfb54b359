// The typed wiring: a binding is resolved once, and a mismatch does not compile (the compiler checks the expectations below).
import { Container, ContainerModule } from 'inversify';
import t from 'tap';
import { type Binder, bindTo, token } from '../../src/app/bind-to.js';

interface Clock {
  now(): number;
}
interface Logger {
  log(text: string): void;
}

const tokens = { clock: token<Clock>('clock'), logger: token<Logger>('logger'), line: token<string>('line'), length: token<number>('length') };

t.test('dependencies are resolved in the order in which they are named, and each once', async (t) => {
  const lines: string[] = [];
  let made = 0;
  const container = new Container();
  container.load(
    new ContainerModule((options) => {
      const bind = bindTo(options);
      bind.toValue(tokens.clock, { now: () => 7 });
      bind.to(tokens.logger, [], () => ({ log: (text) => lines.push(text) }));
      bind.to(tokens.line, [tokens.clock, tokens.logger], (clock, logger) => {
        made++;
        logger.log(`at ${clock.now()}`);
        return `line ${clock.now()}`;
      });
      bind.to(tokens.length, [tokens.line], (line) => line.length);
    }),
  );
  t.equal(container.get<number>(tokens.length as never), 6);
  t.equal(container.get<string>(tokens.line as never), 'line 7');
  t.equal(made, 1);
  t.same(lines, ['at 7']);
});

t.test('a record has each member by its name, made once', async (t) => {
  interface Both {
    readonly line: string;
    readonly length: number;
  }
  const both = token<Both>('both');
  const container = new Container();
  container.load(
    new ContainerModule((options) => {
      const bind = bindTo(options);
      bind.toValue(tokens.line, 'abc');
      bind.to(tokens.length, [tokens.line], (line) => line.length);
      bind.toRecord(both, { line: tokens.line, length: tokens.length });
      // @ts-expect-error: a member is missing
      if (container === null) bind.toRecord(both, { line: tokens.line });
      // @ts-expect-error: a member has another type
      if (container === null) bind.toRecord(both, { line: tokens.line, length: tokens.line });
    }),
  );
  t.strictSame(container.get<Both>(both as never), { line: 'abc', length: 3 });
  t.equal(container.get(both as never), container.get(both as never));
});

t.test('what does not fit does not compile', async (t) => {
  const wrong = (bind: Binder): void => {
    // @ts-expect-error: the two dependencies are swapped
    bind.to(tokens.line, [tokens.logger, tokens.clock], (clock: Clock, logger: Logger) => `${clock.now()}${logger.log('')}`);
    // @ts-expect-error: one dependency is missing
    bind.to(tokens.line, [tokens.clock], (clock: Clock, logger: Logger) => `${clock.now()}${logger.log('')}`);
    // @ts-expect-error: makes another type than the token's
    bind.to(tokens.length, [tokens.clock], (clock) => `${clock.now()}`);
    // @ts-expect-error: a value of another type
    bind.toValue(tokens.clock, { time: () => 0 });
  };
  t.type(wrong, 'function');
});
