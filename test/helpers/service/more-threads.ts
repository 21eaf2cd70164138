// Loaded before a service process (node --import): lets RELAY_THREADS have the values of the tests.
import { sessionSettings } from '../../../src/config/relay.js';
import { RELAY_THREADS_MAX } from './relay-threads.js';

Object.assign(sessionSettings.RELAY_THREADS, { maximum: RELAY_THREADS_MAX });
