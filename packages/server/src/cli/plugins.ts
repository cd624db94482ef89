/** What becomes of the plugins and providers of v4 that a package.json names. */

export interface PluginVerdict {
  readonly name: string;
  readonly range: string;
  readonly verdict: 'built in' | 'replaced' | 'not needed' | 'not run';
  readonly why: string;
}

const known: readonly (readonly [RegExp, PluginVerdict['verdict'], string])[] = [
  [/^@strapi\/strapi$/, 'built in', 'content types, components, relations, media, drafts and the REST API'],
  [/^@strapi\/plugin-users-permissions$/, 'built in', 'roles, permissions, users, login by name and password'],
  [/^@strapi\/plugin-i18n$/, 'built in', 'locales and localized entries'],
  [/^@strapi\/(plugin-)?upload$/, 'built in', 'the media library over the API'],
  [/^@strapi\/plugin-documentation$/, 'replaced', 'GET /api/openapi.json and /api/reference describe the API'],
  [/^@strapi\/plugin-graphql$/, 'not run', 'there is no GraphQL: its clients need v4'],
  [/^@strapi\/plugin-sentry$/, 'not run', 'errors are in the log'],
  [/^@strapi\/provider-upload-local$/, 'built in', 'files in public/uploads'],
  [/^@strapi\/provider-upload-aws-s3$/, 'replaced', 'upload.s3 in dovetail.config'],
  [/provider-upload/, 'not run', 'files there are shown; new ones go to public/uploads or S3'],
  [/provider-email/, 'replaced', 'mail goes out over SMTP, by SMTP_HOST'],
  [/^@strapi\/plugin-color-picker$/, 'replaced', 'the custom field is known; its editor belongs to the admin panel'],
  [
    /^@strapi\/(plugin-cloud|admin|design-system|icons|helper-plugin|types|typescript-utils|utils|generate.*)$/,
    'not needed',
    'a tool, or of the admin panel',
  ],
  [
    /^@_sh\/strapi-plugin-ckeditor$|^@ckeditor\/strapi-plugin-ckeditor$/,
    'replaced',
    'the custom field is known; its editor belongs to the admin panel',
  ],
  [/^@strapi\//, 'not run', 'no part of it is here'],
  [
    /(^|\/)strapi-plugin-|^strapi-.*plugin/,
    'not run',
    'its routes, hooks and services are not here; its tables are left alone',
  ],
  [/strapi-provider-/, 'not run', 'providers of v4 are not loaded'],
];

/** Those of the dependencies that belong to v4, by name. */
export const findPlugins = (dependencies: ReadonlyMap<string, string>): readonly PluginVerdict[] =>
  [...dependencies]
    .flatMap(([name, range]) => {
      const found = known.find(([form]) => form.test(name));
      return found ? [{ name, range, verdict: found[1], why: found[2] }] : [];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
