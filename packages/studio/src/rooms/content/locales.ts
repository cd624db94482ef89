import type { Model, Type } from '../../model/model.js';

/** The locale of a form; null for types without. @param wished the address's, or the bar's */
export const formLocale = (model: Model, type: Type, wished: string | null): string | null =>
  localeFor(model, type, wished === 'all' ? null : wished);

/** The locale in which entries of a type are listed and written: the wished one if there is such a locale, else the default; null for types without. */
export const localeFor = (model: Model, type: Type, wished: string | null): string | null => {
  if (!type.localized) return null;
  if (wished === 'all' || model.locales.some(({ code }) => code === wished)) return wished;
  return model.locales.find(({ isDefault }) => isDefault)?.code ?? null;
};
