/** CPU time of processes, with all of their threads, as the system counts it (Linux); null elsewhere. */
import fs from 'node:fs';

/** Microseconds of CPU that a process has used. Threads that have ended count only as far as the system still reports them. */
export const cpuUsOf = (pid) => {
  try {
    let ns = 0;
    for (const thread of fs.readdirSync(`/proc/${pid}/task`))
      ns += Number(fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    return ns / 1000;
  } catch {
    return null;
  }
};

/** The same for a process and its children, such as the supervisor of workers, or a PostgreSQL server with its backends. */
export const familyCpuUs = (pid) => {
  const own = cpuUsOf(pid);
  if (own === null) return null;
  let us = own;
  for (const child of childrenOf(pid)) us += cpuUsOf(child) ?? 0;
  return us;
};

const childrenOf = (pid) => {
  const pids = [];
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
      // the name of the program, in parentheses, may contain blanks
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(parent) === pid) pids.push(Number(name));
    } catch {
      // it has ended meanwhile
    }
  }
  return pids;
};
