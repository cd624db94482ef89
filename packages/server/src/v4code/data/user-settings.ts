/** The settings of users as `strapi.store` gives them where none are stored: those in force, in v4's form. */
import type { MailName } from '../../access/settings.js';
import { ownTemplate } from '../../accounts/mail.js';

/** @returns null for a key without a usual value. */
export const usualSetting = (key: string): unknown => structuredClone(usual[key]) ?? null;

const mail = (name: MailName, icon: string) => {
  const { subject, message } = ownTemplate(name, '');
  const options = { from: { name: '', email: '' }, response_email: '', object: subject, message };
  return { display: `Email.template.${name}`, icon, options };
};

const usual: Readonly<Record<string, unknown>> = {
  'plugin_users-permissions_advanced': {
    unique_email: true,
    allow_register: true,
    email_confirmation: false,
    email_reset_password: null,
    email_confirmation_redirection: null,
    default_role: 'authenticated',
  },
  // other providers are not served
  'plugin_users-permissions_grant': { email: { enabled: true, icon: 'envelope' } },
  'plugin_users-permissions_email': {
    reset_password: mail('reset_password', 'sync'),
    email_confirmation: mail('email_confirmation', 'check-square'),
  },
};
