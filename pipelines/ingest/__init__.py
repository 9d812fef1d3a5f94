"""Sources in: decoded, checked, admitted and banked."""
