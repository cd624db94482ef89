/** PostGraphile 5 over the tables of the data set, as its documentation sets it up: `node postgraphile.mjs URL PORT`. */
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

const [url, port] = process.argv.slice(2);
const preset = {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: url, schemas: ['public'] })],
  grafserv: { graphqlPath: '/graphql', graphiql: false },
};
const served = postgraphile(preset).createServ(grafserv);
const server = createServer();
server.on('error', (fault) => {
  throw fault;
});
served.addTo(server).catch((fault) => {
  console.error(fault);
  process.exit(1);
});
server.keepAliveTimeout = 72_000;
server.listen(Number(port), '127.0.0.1');
