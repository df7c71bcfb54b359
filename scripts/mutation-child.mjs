// One mutant in a process of its own, for mutants that act while modules load: the programs of vector areas, then test files, up to the first that fails.
// The mutant is named in Stryker's own variable. Exit status 0: it survived.
import { problemOfFile, standForTap } from './mutation-tap.mjs';

standForTap();
for (const path of process.argv.slice(2)) {
  const problem = await problemOfFile(path);
  if (problem !== null || (process.exitCode ?? 0) !== 0) {
    console.log(problem ?? path);
    process.exit(1);
  }
}
process.exit(0);
