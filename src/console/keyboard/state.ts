// Keeps whether the list of keys is open.
import { type Signal, signal } from '@preact/signals';

export const isListOpen: Signal<boolean> = signal(false);
