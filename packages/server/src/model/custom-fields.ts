/**
 * Custom fields: attributes that a plugin of v4 registers. To the database and the content API each is an attribute of the
 * type that its plugin registers it with; the rest of the plugin belongs to the administration. Read from the plugins'
 * packages for v4; a project adds others in its configuration (`customFields`).
 */
import type { ScalarTypeName } from './attributes.js';

export type CustomFields = Readonly<Record<string, ScalarTypeName>>;

export const knownCustomFields: CustomFields = {
  'plugin::ckeditor.CKEditor': 'richtext',
  'plugin::ckeditor5.CKEditor': 'richtext',
  'plugin::color-picker.color': 'string',
  'plugin::country-select.country': 'string',
  'plugin::field-uuid.uuid': 'uid',
  'plugin::geodata.geojson': 'json',
  'plugin::google-maps.location-picker': 'json',
  'plugin::list-tags.listTags': 'json',
  'plugin::multi-select.multi-select': 'json',
  'plugin::oembed.oembed': 'text',
  'plugin::react-icons.icon': 'string',
  'plugin::strapi-advanced-uuid.uuid': 'uid',
  'plugin::strapi-code-editor-custom-field.code-editor-json': 'json',
  'plugin::strapi-code-editor-custom-field.code-editor-text': 'text',
  'plugin::tagsinput.tags': 'json',
  'plugin::timezone-select.timezone': 'string',
  'plugin::tinymce.tinymce': 'richtext',
  'plugin::video-field.video': 'json',
};
