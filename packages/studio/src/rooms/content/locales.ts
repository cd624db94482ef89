/** The locale of a list or form: the one that is chosen in the bar, unless the address or unsaved work says otherwise. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { Model, Type } from '../../model/model.js';
import { useModel } from '../../server/queries.js';
import { chooseLocale, useLocale } from '../../shell/choices.js';

/** Another locale that was chosen beside a form. */
export interface OtherLocale {
  readonly open: () => void;
  readonly stay: () => void;
}

/**
 * The locale of a form, null for types without, and another one that waits until unsaved work in the form has been asked about.
 * @param id an entry has its own locale, whatever is chosen
 * @param wished the address's; null: the bar's
 */
export const useFormLocale = (
  type: Type,
  id: number | null,
  wished: string | null,
): { readonly locale: string | null; readonly other: OtherLocale | null } => {
  const chosen = useLocale();
  const navigate = useNavigate();
  const next = formLocale(useModel(), type, wished ?? chosen);
  const [locale, setLocale] = useState(next);
  if (id !== null || next === locale) return { locale, other: null };
  const stay = (): void => {
    if (wished === null) chooseLocale(locale);
    else void navigate({ to: '.', search: { locale }, replace: true, ignoreBlocker: true } as never);
  };
  return { locale, other: { open: () => setLocale(next), stay } };
};

/** Opens the other locale at once where nothing would be lost from view. */
export const useOtherLocale = (other: OtherLocale | null, isDirty: boolean): void => {
  useEffect(() => {
    if (!isDirty) other?.open();
  }, [other, isDirty]);
};

const formLocale = (model: Model, type: Type, wished: string | null): string | null =>
  localeFor(model, type, wished === 'all' ? null : wished);

/** The locale in which entries of a type are listed and written: the wished one if there is such a locale, else the default; null for types without. */
export const localeFor = (model: Model, type: Type, wished: string | null): string | null => {
  if (!type.localized) return null;
  if (wished === 'all' || model.locales.some(({ code }) => code === wished)) return wished;
  return model.locales.find(({ isDefault }) => isDefault)?.code ?? null;
};
