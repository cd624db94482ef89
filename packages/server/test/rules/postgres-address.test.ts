/** PostgreSQL URLs: what they mean, and that no message contains a password. */
import { describe, expect, it } from 'vitest';
import { type Environment, postgresUrl } from '../../src/cli/config.js';
import { readAddress } from '../../src/sql/postgres/address.js';

describe('PostgreSQL URLs', () => {
  it.each([
    ['postgres://u:p@h:5433/d', 'postgres://h:5433/d'],
    ['postgresql://u:p%40%2F@h/d?sslmode=require&search_path=cms', 'postgres://h/d'],
    ['postgres://u:p@a:1,b:2/d', 'postgres://a:1,b:2/d'],
    ['postgres://u:p@q@h/d', 'postgres://h/d'],
    ['postgres://h/d?password=p', 'postgres://h/d'],
  ])('%s is shown as %s', (url, place) => {
    expect(readAddress(url).place).toBe(place);
  });

  it('names hosts, user, password and schema', () => {
    const { candidates, searchPath } = readAddress('postgres://u:p%40@a:1,b:2/d?search_path=cms');
    expect(searchPath).toBe('cms');
    expect(candidates).toMatchObject([
      { host: 'a', port: 1, user: 'u', password: 'p@', database: 'd' },
      { host: 'b', port: 2, user: 'u', password: 'p@', database: 'd' },
    ]);
  });

  const anyCertificate = { rejectUnauthorized: false };
  it.each([
    ['', [undefined]],
    ['?sslmode=disable', [false]],
    ['?sslmode=prefer', [anyCertificate, false]],
    ['?sslmode=allow', [false, anyCertificate]],
    ['?sslmode=require', [anyCertificate]],
    ['?ssl=require', [anyCertificate]],
    ['?sslmode=no-verify', [anyCertificate]],
    ['?sslmode=verify-full', [{}]],
    ['?ssl=true', [true]],
  ])('%s tries TLS as libpq does', (query, ssl) => {
    expect(readAddress(`postgres://h/d${query}`).candidates.map((it) => it.ssl)).toEqual(ssl);
  });

  it.each([
    ['mysql://u:sesame@h/d', 'The PostgreSQL URL does not begin with postgres://'],
    ['sesame', 'The PostgreSQL URL does not begin with postgres://'],
    ['postgres://u:ses/ame@h/d', /^The PostgreSQL URL is invalid; special characters in the password/],
    ['postgres://u:sesame@h:port/d', /^The PostgreSQL URL is invalid; special characters in the password/],
  ])('%s is refused without being quoted', (url, message) => {
    expect(() => readAddress(url)).toThrow(message);
    expect(() => readAddress(url)).not.toThrow('sesame');
  });

  it.each([
    ['db.example', 'db.example'],
    ['/cloudsql/a:b:c', '/cloudsql/a:b:c'],
    ['::1', '::1'],
    ['[::1]', '::1'],
  ])('DATABASE_HOST may be a name, a folder of sockets or an address: %s', (given, host) => {
    const url = postgresUrl({
      DATABASE_HOST: given,
      DATABASE_PORT: 5433,
      DATABASE_USERNAME: 'u',
      DATABASE_PASSWORD: 'p@',
      DATABASE_NAME: 'd',
      DATABASE_SCHEMA: 'public',
    } as Environment);
    expect(readAddress(url).candidates).toMatchObject([{ host, port: 5433, user: 'u', password: 'p@', database: 'd' }]);
  });
});
