/**
 * Every text of the Studio. A component has none of its own, so that a translation is one more object of this type. Texts
 * with facts are functions of them.
 */
import { access } from './access.js';
import { ask } from './ask.js';
import { content } from './content.js';
import { health } from './health.js';
import { map } from './map.js';
import { media } from './media.js';
import { operators } from './operators.js';
import { relations } from './relations.js';
import { shell } from './shell.js';
import { start } from './start.js';

export const words = { shell, start, map, ask, content, relations, media, access, health, operators };
