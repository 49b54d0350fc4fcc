// A heartbeat thread that cannot start.
throw new Error('out of order');
