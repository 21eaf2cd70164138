// Holds the choices of this browser, for the layout of phones and for the settings.
import { createPhoneChoices, type PhoneChoices } from './choices.js';

export const ownChoices: PhoneChoices = createPhoneChoices(localStorage);
